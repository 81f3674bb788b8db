"""Measures a real weak model: the whole chain, raw against helped.

    python -m benchmarks.weak_models                                        # everything, SmolLM2 135M on a llama-server of its own
    python -m benchmarks.weak_models --quick --json FILE                    # five minutes
    python -m benchmarks.weak_models --quick --json FILE --requests FILE    # on other requests
    python -m benchmarks.weak_models --write                                # also writes the page
    python -m benchmarks.weak_models --gguf MODEL.gguf --write              # another model: one more column of the page
    python -m benchmarks.weak_models --base-url http://127.0.0.1:11434/v1 --model qwen3:4b --provider ollama-openai

The first run downloads the model and the peers and builds llama-server, which takes about ten minutes; ``--quick`` needs at most
five minutes after that. ``--resume`` continues an interrupted measurement with the row that it began with; ``--seconds`` ends it in time.

``--requests`` reads JSON lines ``{"request", "tools": [names of the right tools], "catalog": PATH}``. At most the first requests by digest are
measured, the catalogs in turn; ``benchmarks.weak_models.cases`` describes how catalogs get their size.

``--json`` writes one object. ``pick_50``, ``pick_200`` and ``pick_1000`` map each way (``raw``, ``helped``, ``ranker``, ``logprobs``, ``llama_json_schema``,
``openai_tools``, ``typed_gguf``) to its sums: of ``n`` cases (requests times runs), how many answers were ``valid`` (JSON that names a tool; for Helmdeck, a plan
with a step), ``right`` (a tool that the request needs; if it needs several, any of them) and ``invented`` (the name of no tool); ``calls``,
``prompt_tokens``, ``output_tokens`` and ``seconds`` are totals, ``requests`` counts different requests, and ``causes`` the failures. ``typed`` maps each way to the same sums; an answer is ``valid`` if it fits the schema,
and ``right`` if all its values are. ``logprobs`` are the sums of ``helped`` where the product
proposes that chooser, and those of ``ranker`` are over the cases of ``helped``. ``unavailable`` maps a way that was left out to the reason. ``model`` and ``server`` describe what was
measured.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.weak_models import calibration, llama, page
from benchmarks.weak_models.cases import RequestsError, own_pool, read_requests
from benchmarks.weak_models.peer_process import PACKAGES, NotInstalled, python_of
from benchmarks.weak_models.proxy import proxied
from benchmarks.weak_models.results import Result, ResultFile, by_set, compare, sums
from benchmarks.weak_models.schedule import Cell, Schedule
from benchmarks.weak_models.session import Session
from benchmarks.weak_models.settings import kept_proposal, proposed
from benchmarks.weak_models.tasks import FIRST, QUICK, TASKS, WHOLE, Sizes, Task, make_tasks
from helmdeck_selection import CatalogWarning

LOGPROBS = "logprobs"
QUICK_TASKS = ("pick", "typed")
QUICK_S = 280.0
"""Seconds of ``--quick`` after downloads and builds; what is left of five minutes is for stopping."""

EXAMINATION_S, QUICK_EXAMINATION_S = 60.0, 30.0
"""Seconds for ``helmdeck doctor --model``, which proposes the model's configuration."""


def install_peers() -> None:
    """Install what is missing; a failure is reported by the way that needs it."""
    for peer in PACKAGES:
        with contextlib.suppress(NotInstalled):
            python_of(peer)


def report(results: ResultFile, cells: Sequence[tuple[str, str]], facts: dict[str, Any]) -> dict[str, Any]:
    """Return the object of ``--json``.

    :param cells: task and way of what was to be measured; a way without a result has an ``n`` of 0.
    """
    found: dict[str, Any] = {}
    for task, way in dict.fromkeys([*cells, *((each.task, each.way) for each in results.results.values())]):
        measured = results.of(task, way)
        if way == "ranker":
            measured = on_same_cases(measured, results.of(task, "helped"))
        found.setdefault(task, {})[way] = sums(measured).as_json()
    comparisons: dict[str, Any] = {}
    for task, ways in found.items():
        for other in ("ranker", "raw"):
            if {"helped", other} <= ways.keys():
                beside = compare(results.of(task, "helped"), results.of(task, other))
                if other == "ranker":
                    beside["sets"] = by_set(results.of(task, "helped"), results.of(task, other))
                comparisons.setdefault(task, {})[f"helped_vs_{other}"] = beside
    same = {way: same_text(results.of("long", way), results.of("long", "uncut")) for way in found.get("long", {})}
    for ways in found.values():
        if facts.get("same_as_helped") == LOGPROBS and "helped" in ways and "ranker" in ways:
            ways[LOGPROBS] = ways["helped"]
    return {**found, "comparisons": comparisons, **({"same_as_uncut": same} if same else {}), **facts}


def on_same_cases(results: list[Result], others: Sequence[Result]) -> list[Result]:
    """Return the results of the cases that another way measured too; all of them if it measured none."""
    cases = {each.case for each in others}
    return [each for each in results if each.case in cases] or results


def is_helped(cell: Cell, row: Mapping[str, Any]) -> bool:
    """Whether the way is what the product proposes anyway, so that measuring it twice would only cost time."""
    return cell.way == LOGPROBS == row.get("chooser")


def same_text(results: Sequence[Result], uncut: Sequence[Result]) -> int:
    """Count the texts that are those of the uncut answers."""
    digests = {each.case: each.detail.get("digest", "") for each in uncut}
    return sum(each.detail.get("digest") == digests.get(each.case) for each in results)


def arguments_of() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.weak_models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="one run, as many requests as five minutes allow")
    parser.add_argument("--json", type=Path, help="file for the sums")
    parser.add_argument("--requests", type=Path, help="JSON lines of requests to pick a tool for")
    parser.add_argument(
        "--model-kind", choices=list(llama.MODELS), default="smollm2", help="model from the package index"
    )
    parser.add_argument("--gguf", type=Path, help="model file to serve")
    parser.add_argument("--base-url", help="server to measure instead of starting one; ends with /v1")
    parser.add_argument("--model", help="name that the server knows the model by")
    parser.add_argument("--provider", default="llamacpp", help="Helmdeck's preset of the server: llamacpp, vllm, ...")
    parser.add_argument("--only", help=f"tasks, separated by commas: {', '.join(TASKS)}")
    parser.add_argument("--ways", help="ways, separated by commas")
    parser.add_argument("--most", type=int, help="cases of each task at most")
    parser.add_argument("--runs", type=int, help="runs")
    parser.add_argument("--resume", action="store_true", help="continue an interrupted measurement")
    parser.add_argument(
        "--threads", type=int, help="threads of the started server; by default as many as are fastest now"
    )
    parser.add_argument("--write", action="store_true", help="keep the sums of this model, and write the page")
    parser.add_argument(
        "--seconds", type=float, help=f"time of the measurement, shared out among the ways; --quick has {QUICK_S:g}"
    )
    found = parser.parse_args()
    if found.quick and found.seconds is None:
        found.seconds = QUICK_S
    if found.base_url and not found.model:
        parser.error("--base-url needs --model, the name that the server knows the model by")
    if found.gguf and not found.gguf.is_file():
        parser.error(f"--gguf: {found.gguf} is no file")
    found.tasks = found.only.split(",") if found.only else list(QUICK_TASKS if found.quick else TASKS)
    if unknown := set(found.tasks) - set(TASKS):
        parser.error(f"unknown task {', '.join(sorted(unknown))}; tasks are {', '.join(TASKS)}")
    return found


@attrs.frozen(kw_only=True)
class Served:
    """A server with a model.

    :ivar facts: what the page and ``--json`` report about both.
    :ivar process: the server, if it was started here.
    :ivar gguf: the file of the model, if it is served from here.
    :ivar libraries: the folder of llama.cpp's shared libraries, if it is known.
    :ivar threads: threads of the server, if it was started here.
    """

    url: str
    model: str
    facts: dict[str, Any]
    process: llama.Server | None = None
    gguf: Path | None = None
    libraries: Path | None = None
    threads: int = 1


def prepare(arguments: argparse.Namespace) -> tuple[llama.Prepared, llama.Prepared] | None:
    """Install, build and download what is missing, before the time counts; return the server and the model if one is started here."""
    install_peers()
    if arguments.base_url:
        return None
    program = llama.server_program()
    if arguments.gguf:
        return program, llama.Prepared(arguments.gguf, 0.0)
    return program, llama.model_file(llama.MODELS[arguments.model_kind])


@contextlib.contextmanager
def served(arguments: argparse.Namespace, prepared: tuple[llama.Prepared, llama.Prepared] | None) -> Iterator[Served]:
    """Start the server of the command line, or use the one that it names."""
    if prepared is None:
        facts = {"model": arguments.model, "server": arguments.base_url}
        yield Served(url=arguments.base_url.rstrip("/"), model=arguments.model, facts=facts)
        return
    program, file = prepared
    threads = arguments.threads or llama.fastest_threads(program.path, file.path)
    name = arguments.model or (arguments.gguf.stem if arguments.gguf else arguments.model_kind)
    facts = {
        "model": file.path.name,
        "server": f"{program.path.name}, context {llama.CONTEXT:,}, {threads} thread{'s' * (threads > 1)}",
        "build_s": round(program.seconds, 1),
        "download_s": round(file.seconds, 1),
    }
    with llama.Server(program.path, file.path, alias=name, threads=threads) as process:
        yield Served(
            url=process.url,
            model=name,
            facts=facts,
            process=process,
            gguf=file.path,
            libraries=llama.libraries(program.path),
            threads=threads,
        )


def sizes_of(arguments: argparse.Namespace) -> Sizes:
    """Return how much to measure."""
    sizes = QUICK if arguments.quick else WHOLE
    if arguments.quick and arguments.only:
        sizes = attrs.evolve(sizes, plans=10, outputs=10)
    if (most := arguments.most) is not None:
        names = ("requests", "texts", "plans", "outputs")
        sizes = attrs.evolve(sizes, **{name: min(most, getattr(sizes, name)) for name in names})
    return sizes if arguments.runs is None else attrs.evolve(sizes, runs=arguments.runs)


def calibration_task(session: Session, url: str, most: int | None, facts: dict[str, Any]) -> Task:
    """Calibrate the model, and return the task that plans new requests with the proposed budget."""
    print("calibrating", file=sys.stderr, flush=True)
    start = time.monotonic()
    found = calibration.calibrate(session, url)
    facts["calibration"] = {**found, "seconds": round(time.monotonic() - start, 1)}
    print(calibration.summary(found), file=sys.stderr, flush=True)
    row = calibration.row_of(found)
    return Task(
        name="calibrate",
        cases=calibration.cases(found.get("claimed_bytes"))[:most],
        ways={"helped": lambda each: calibration.Helped(each, row)},
        judge=calibration.judge,
        runs=1,
    )


def measure(arguments: argparse.Namespace, tasks: Sequence[Task], server: Served, start: float) -> dict[str, Any]:
    """Measure everything; return the object of ``--json``."""
    sizes = sizes_of(arguments)
    path = None if arguments.quick else llama.CACHE / "results" / f"{server.model}.jsonl"
    results = ResultFile(path, resume=arguments.resume)
    kept = path.with_suffix(".row.json") if path else None
    proposal = kept_proposal(kept) if kept and results.results else None
    if proposal is None:
        seconds = QUICK_EXAMINATION_S if arguments.quick else EXAMINATION_S
        proposal = proposed(arguments.provider, server.model, server.url, seconds)
        if kept:
            kept.write_text(json.dumps(attrs.asdict(proposal)), encoding="utf-8")
    facts = {**server.facts, "settings": dict(proposal.row), "settings_from": proposal.source}
    with proxied(server.url) as proxy, tempfile.TemporaryDirectory(prefix="weak-models-") as folder:
        session = Session(
            proxy=proxy,
            model=server.model,
            provider=arguments.provider,
            row=proposal.row,
            folder=Path(folder),
            gguf=server.gguf,
            libraries=server.libraries,
            threads=server.threads,
        )

        if server.process is not None:
            session.keep_alive = server.process.keep_alive

        def set_limit(seconds: float) -> None:
            session.request_s = seconds

        ends_at = start + arguments.seconds if arguments.seconds else None
        schedule = Schedule(results=results, request_s=sizes.request_s, set_limit=set_limit, ends_at=ends_at)
        chosen = arguments.ways.split(",") if arguments.ways else None
        cells = [cell for task in tasks for cell in task.cells(session, chosen) if not is_helped(cell, proposal.row)]
        schedule.run(cells)
        if ends_at is not None:  # what the other ways have left
            schedule.run([cell for cell in cells if cell.way in FIRST])
        if "calibrate" in arguments.tasks:
            cells += calibration_task(session, server.url, arguments.most, facts).cells(session, None)
            schedule.run(cells)
        session.close()
    if server.process is not None:
        facts["server_restarts"] = server.process.restarts
    spent = sum(each.seconds for each in results.results.values()) if arguments.resume else 0.0
    facts |= {"unavailable": schedule.unavailable, "seconds": round(max(spent, time.monotonic() - start), 1)}
    if proposal.row.get("chooser") == LOGPROBS:
        facts["same_as_helped"] = LOGPROBS
    available = [(cell.task, cell.way) for cell in cells if cell.way not in schedule.unavailable]
    return report(results, available, facts)


def main() -> None:
    """Measure and write."""
    arguments = arguments_of()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # the started server ends with the benchmark
    warnings.simplefilter("ignore", CatalogWarning)
    try:
        pool = read_requests(arguments.requests) if arguments.requests else own_pool()
    except RequestsError as exc:
        sys.exit(f"benchmarks.weak_models: {exc}")
    prepared = prepare(arguments)
    start = time.monotonic()
    tasks = make_tasks(arguments.tasks, pool, sizes_of(arguments))
    with served(arguments, prepared) as server:
        found = measure(arguments, tasks, server, start)
    if arguments.write:
        page.save(server.model, found)
        page.write()
    text = json.dumps(found, indent=1, ensure_ascii=False)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

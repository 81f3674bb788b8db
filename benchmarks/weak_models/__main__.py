"""Measures a real weak model: the whole chain, raw against helped.

    python -m benchmarks.weak_models                                        # everything, SmolLM2 135M on a llama-server of its own
    python -m benchmarks.weak_models --quick --json FILE                    # five minutes
    python -m benchmarks.weak_models --quick --json FILE --requests FILE    # on other requests
    python -m benchmarks.weak_models --gguf MODEL.gguf                      # another model
    python -m benchmarks.weak_models --base-url http://127.0.0.1:11434/v1 --model qwen3:4b --provider ollama-openai

The first run downloads the model and the peers and builds llama-server, which takes about ten minutes; ``--quick`` needs at most
five minutes after that. An interrupted measurement goes on with ``--resume``.

``--requests`` reads JSON lines ``{"request", "tools": [names of the right tools], "catalog": PATH}``. At most the first requests by digest are
measured, the catalogs in turn; ``benchmarks.weak_models.cases`` describes how a catalog is cut or filled up.

``--json`` writes one object. ``pick_50``, ``pick_200`` and ``pick_1000`` map each way (``raw``, ``helped``, ``ranker``, ``logprobs``, ``llama_json_schema``,
``openai_tools``) to its sums: of ``n`` cases (requests times runs), how many answers were ``valid`` (JSON that names a tool; for Helmdeck, a plan
with a step), ``right`` (a tool that the request needs; if it needs several, any of them) and ``invented`` (the name of no tool); ``calls``,
``prompt_tokens``, ``output_tokens`` and ``seconds`` are totals. ``typed`` maps each way to the same sums; an answer is ``valid`` if it fits the schema,
and ``right`` if all its values are. ``unavailable`` maps a way that was left out to the reason. ``model`` and ``server`` describe what was
measured.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.weak_models import llama, picking, typed
from benchmarks.weak_models.cases import (
    SIZES,
    PickCase,
    RequestsError,
    own_catalogs,
    own_pool,
    pick_cases,
    read_requests,
    sample,
)
from benchmarks.weak_models.peer_process import PACKAGES, NotInstalled, python_of
from benchmarks.weak_models.proxy import proxied
from benchmarks.weak_models.results import Result, ResultFile, sums
from benchmarks.weak_models.schedule import Cell, Schedule, Unavailable
from benchmarks.weak_models.session import Session
from benchmarks.weak_models.settings import PLAIN
from helmdeck_core import Catalog, ConfigError
from helmdeck_selection import CatalogWarning

TASKS = ("pick", "typed")
QUICK_S = 270.0
"""Seconds of ``--quick`` after downloads and builds; what is left of five minutes is for starting and stopping."""


@attrs.frozen(kw_only=True)
class Sizes:
    """How much is measured."""

    requests: int
    texts: int
    runs: int
    request_s: float


WHOLE = Sizes(requests=40, texts=100, runs=3, request_s=120.0)
QUICK = Sizes(requests=40, texts=25, runs=1, request_s=30.0)

PICK_WEIGHTS = {
    "ranker": 0.3,
    "raw": 1.0,
    "helped": 1.5,
    "logprobs": 1.0,
    "llama_json_schema": 1.0,
    "openai_tools": 1.0,
}
"""Parts of the time of ``--quick``; a prompt over the context window is refused at once and leaves its part to the others."""


def pick_cells(session: Session, cases: dict[int, list[PickCase]], ways: Sequence[str]) -> list[Cell]:
    """The cells of the task pick: large catalogs first, because most ways cannot even send them."""

    def cell(size: int, way: str) -> Cell:
        task, found = f"pick_{size}", cases[size]

        @contextlib.contextmanager
        def open_way() -> Iterator[Callable[[int, int], Result]]:
            with _available(), picking.opened(way, session) as pick:

                def measure(place: int, run: int) -> Result:
                    case = found[place]
                    if hasattr(pick, "prepare"):
                        pick.prepare(case)
                    return session.measure(
                        task, way, case.id, run, lambda: pick(case), lambda each: picking.judge(case, each)
                    )

                yield measure

        return Cell(task=task, way=way, case_ids=[each.id for each in found], open=open_way, weight=PICK_WEIGHTS[way])

    return [cell(size, way) for size in sorted(cases, reverse=True) for way in ways]


def typed_cells(session: Session, cases: Sequence[typed.TypedCase], ways: Sequence[str]) -> list[Cell]:
    """The cells of the task typed."""

    def cell(way: str) -> Cell:
        @contextlib.contextmanager
        def open_way() -> Iterator[Callable[[int, int], Result]]:
            with _available(), typed.opened(way, session) as ask:

                def measure(place: int, run: int) -> Result:
                    case = cases[place]
                    return session.measure(
                        "typed", way, case.id, run, lambda: ask(case), lambda each: typed.judge(case, each)
                    )

                yield measure

        return Cell(task="typed", way=way, case_ids=[each.id for each in cases], open=open_way)

    return [cell(way) for way in ways]


@contextlib.contextmanager
def _available() -> Iterator[None]:
    try:
        yield
    except NotInstalled as exc:
        raise Unavailable(f"not installed: {exc}") from exc
    except ConfigError as exc:
        raise Unavailable(f"not in this version: {exc}") from exc


def install_peers() -> None:
    """Install what is missing before the time counts; a failure is reported by the way that needs it."""
    for peer in PACKAGES:
        with contextlib.suppress(NotInstalled):
            python_of(peer)


def report(results: ResultFile, schedule: Schedule, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the object of ``--json``."""
    found: dict[str, Any] = {}
    for task, way in dict.fromkeys((each.task, each.way) for each in results.results.values()):
        found.setdefault(task, {})[way] = sums(results.of(task, way)).as_json()
    return {**found, "unavailable": schedule.unavailable, **facts}


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
    parser.add_argument("--most", type=int, help="requests and texts of a task at most")
    parser.add_argument("--runs", type=int, help="runs")
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted measurement")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of the started server")
    parser.add_argument("--seconds", type=float, default=QUICK_S, help="time of --quick")
    found = parser.parse_args()
    if found.base_url and not found.model:
        parser.error("--base-url needs --model, the name that the server knows the model by")
    if unknown := set((found.only or "pick").split(",")) - set(TASKS):
        parser.error(f"unknown task {', '.join(sorted(unknown))}; tasks are {', '.join(TASKS)}")
    return found


@contextlib.contextmanager
def served(arguments: argparse.Namespace) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the URL, the model's name and facts about both."""
    if arguments.base_url:
        facts = {"model": arguments.model, "server": arguments.base_url}
        yield arguments.base_url, arguments.model, facts
        return
    chosen = llama.MODELS[arguments.model_kind]
    program = llama.server_program()
    file = llama.Prepared(arguments.gguf, 0.0) if arguments.gguf else llama.model_file(chosen)
    name = arguments.model or (arguments.gguf.stem if arguments.gguf else chosen.name)
    facts = {
        "model": file.path.name,
        "server": f"llama-server, context {llama.CONTEXT}, {arguments.threads} threads",
        "build_s": round(program.seconds, 1),
        "download_s": round(file.seconds, 1),
    }
    install_peers()
    with llama.serve(program.path, file.path, alias=name, threads=arguments.threads) as url:
        yield url, name, facts


def main() -> None:
    """Measure and write."""
    arguments = arguments_of()
    warnings.simplefilter("ignore", CatalogWarning)
    sizes = QUICK if arguments.quick else WHOLE
    tasks = set(arguments.only.split(",")) if arguments.only else set(TASKS)
    try:
        pool = read_requests(arguments.requests) if arguments.requests else own_pool()
    except RequestsError as exc:
        sys.exit(f"benchmarks.weak_models: {exc}")
    requests = sample(pool.requests, arguments.most or sizes.requests)
    fillers: list[Catalog] = list(own_catalogs().values())
    cases = {size: pick_cases(pool, requests, size, fillers) for size in SIZES}
    texts = typed.load()[: arguments.most or sizes.texts]
    with served(arguments) as (url, name, facts), proxied(url) as proxy:
        start = time.monotonic()
        session = Session(proxy=proxy, model=name, provider=arguments.provider, row=PLAIN)
        path = None if arguments.quick else llama.CACHE / "results" / f"{name}.jsonl"
        results = ResultFile(path, resume=arguments.resume)

        def set_limit(seconds: float) -> None:
            session.request_s = seconds

        schedule = Schedule(
            results=results,
            runs=arguments.runs or sizes.runs,
            request_s=sizes.request_s,
            set_limit=set_limit,
            ends_at=start + arguments.seconds if arguments.quick else None,
        )
        cells: list[Cell] = []
        chosen = arguments.ways.split(",") if arguments.ways else None
        if "pick" in tasks:
            cells += pick_cells(session, cases, [way for way in picking.WAYS if chosen is None or way in chosen])
        if "typed" in tasks:
            cells += typed_cells(session, texts, [way for way in typed.WAYS if chosen is None or way in chosen])
        schedule.run(cells)
        found = report(results, schedule, {**facts, "seconds": round(time.monotonic() - start, 1)})
    text = json.dumps(found, indent=1, ensure_ascii=False)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

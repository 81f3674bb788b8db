"""Compares the decoder with other libraries on the same responses, each in its own virtual environment.

    python -m benchmarks.peers_decode                     # creates the environments once, then prints two tables
    python -m benchmarks.peers_decode --write PAGE.md     # also writes them to a page

The cases are those of ``tests/data/decode``, and, where ``BENCH_DATA`` names a directory with ``decode/cases.jsonl``, those
too. Speed is relative to a bare typed decode of the payload, interleaved in the same process.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import signal
import subprocess
import sys
import time
import venv
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.pages import write_between

ROOT = Path(__file__).resolve().parents[1]
OURS = "helmdeck"
PACKAGES: Mapping[str, tuple[str, ...]] = {
    OURS: (),
    "json": (),
    "orjson": ("orjson",),
    "json_repair": ("json_repair",),
    "instructor": ("instructor",),
    "langchain": ("langchain-core",),
    "llama_index": ("llama-index-core",),
    "pydantic_ai": ("pydantic-ai-slim",),
}
TIERS = ("core", "extended", "guard", "repair", "schema")
FORMS = ("clean", "fenced", "prose", "reasoning")
SIZES = (300, 3_000, 30_000)

PATIENCE = 5  # seconds; a slower decode counts as a failure

Decode = Callable[[str, "str | None", Any], Any]


# -- within the environment of one library -----------------------------------------------------------------------


def decoder_of(peer: str) -> Decode:
    """Return a function that decodes or raises; not all libraries use the type and the stop reason."""
    if peer == OURS:
        decode = importlib.import_module("benchmarks.adapters").decode

        def ours(text: str, reason: str | None, schema: Any) -> Any:
            kind, value = decode(text, reason, schema)
            if kind == "failure":
                raise ValueError(value)
            return value

        return ours
    load = LOADERS[peer]()
    return lambda text, *_: load(text)


def quick_of(peer: str, decode: Decode) -> Decode:
    """Return the timed function; it ignores the stop reason, since the other libraries have none."""
    if peer != OURS:
        return decode
    decoder = importlib.import_module("helmdeck_testing.deck_factory").make_deck().runtime.decoder
    return lambda text, *_: decoder.decode(text, dict).value


def _raise_timeout(*_: object) -> None:
    raise TimeoutError


def patient(decode: Decode) -> Decode:
    """Wrap a function with a timeout."""

    def limited(text: str, reason: str | None, schema: Any) -> Any:
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        try:
            return decode(text, reason, schema)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    return limited


def _pydantic_ai() -> Callable[[str], Any]:
    utils = importlib.import_module("pydantic_ai._utils")
    adapter = importlib.import_module("pydantic").TypeAdapter(dict[str, Any])
    return lambda text: adapter.validate_json(utils.strip_markdown_fences(text))


def _instructor() -> Callable[[str], Any]:
    utils = importlib.import_module("instructor.utils")
    return lambda text: json.loads(utils.extract_json_from_codeblock(text))


LOADERS: Mapping[str, Callable[[], Callable[[str], Any]]] = {
    "json": lambda: json.loads,
    "orjson": lambda: importlib.import_module("orjson").loads,
    "json_repair": lambda: importlib.import_module("json_repair").loads,
    "instructor": _instructor,
    "langchain": lambda: importlib.import_module("langchain_core.output_parsers").JsonOutputParser().parse,
    "llama_index": lambda: importlib.import_module("llama_index.core.output_parsers.utils").parse_json_markdown,
    "pydantic_ai": _pydantic_ai,
}


def is_same(expected: Any, got: Any) -> bool:
    """Equal by type, numbers by value."""
    if isinstance(expected, dict):
        if set(expected) == {"$float"}:
            return isinstance(got, float) and not math.isfinite(got)
        return (
            isinstance(got, dict)
            and expected.keys() == got.keys()
            and all(is_same(expected[key], got[key]) for key in got)
        )
    if isinstance(expected, list):
        return isinstance(got, list) and len(expected) == len(got) and all(map(is_same, expected, got))
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    return bool(expected == got) and isinstance(got, int | float) == isinstance(expected, int | float)


def verdict(case: Mapping[str, Any], decode: Decode) -> str:
    """Return ``right``, ``missed`` for a failure instead of a value, or ``wrong`` for another value."""
    outcomes = [case["expect"], *case.get("alt", ())]
    try:
        got = decode(case["raw"], case["finish_reason"], case.get("schema"))
    except Exception:
        return "right" if any(each["kind"] == "failure" for each in outcomes) else "missed"
    if not isinstance(got, dict):  # the caller requested an object and would notice
        return "right" if any(each["kind"] == "failure" for each in outcomes) else "missed"
    values = [each["value"] for each in outcomes if each["kind"] == "value"]
    return "right" if any(is_same(value, got) for value in values) else "wrong"


def ratio(decode: Decode, form: str, size: int) -> float | None:
    """Return the time relative to the bare decode; ``None`` if decoding fails."""
    inputs = importlib.import_module("benchmarks.inputs")
    floor = importlib.import_module("msgspec").json.Decoder(inputs.Answer).decode
    text = inputs.payload(size)
    raw = {
        "clean": text,
        "fenced": inputs.fenced(text),
        "prose": f"Here is the plan: {text}\nHope it helps.",
        "reasoning": inputs.reasoning(9 * size) + text,
    }[form]
    try:
        if patient(decode)(raw, "stop", None) != json.loads(text):
            return None
    except Exception:
        return None
    best, best_floor = math.inf, math.inf
    started = time.perf_counter()
    while time.perf_counter() - started < 0.4:
        t0 = time.perf_counter()
        floor(text)
        t1 = time.perf_counter()
        decode(raw, "stop", None)
        t2 = time.perf_counter()
        best_floor, best = min(best_floor, t1 - t0), min(best, t2 - t1)
    return best / best_floor


def work(peer: str) -> None:
    """Read cases from standard input and write their results."""
    decode = decoder_of(peer)
    signal.signal(signal.SIGALRM, _raise_timeout)
    careful = patient(decode)
    counts: dict[str, Counter[str]] = {}
    for line in sys.stdin:
        case = json.loads(line)
        counts.setdefault(case["tier"], Counter())[verdict(case, careful)] += 1
    speed = {f"{form} {size}": ratio(quick_of(peer, decode), form, size) for form in FORMS for size in SIZES}
    print(json.dumps({"counts": counts, "speed": speed}))


# -- from outside ------------------------------------------------------------------------------------------------


def python_of(peer: str, folder: Path) -> str:
    """Return the interpreter with the library, creating its environment if it is missing."""
    if not PACKAGES[peer]:
        return sys.executable
    home = folder / peer
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "msgspec", *PACKAGES[peer]], check=True)
        (home / "ready").touch()
    return str(python)


def cases() -> list[str]:
    """Return the project's own cases, and the shared ones if available."""
    files = sorted((ROOT / "tests" / "data" / "decode").glob("*.jsonl"))
    shared = Path(os.environ.get("BENCH_DATA", "")) / "decode" / "cases.jsonl"
    files += [shared] if shared.is_file() else []
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [line for line in lines if json.loads(line).get("type") != "list"]


def measure(peer: str, folder: Path, lines: Sequence[str]) -> dict[str, Any]:
    """Run the cases with one library."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "plugins")))}
    done = subprocess.run(
        [python_of(peer, folder), "-m", "benchmarks.peers_decode", "--worker", peer],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _shown(times: float | None) -> str:
    return "fails" if times is None else f"{times:.2f}" if times < 100 else f"{times:.0f}"


def tables(results: Mapping[str, dict[str, Any]]) -> str:
    """Return correctness and speed as Markdown."""
    first = next(iter(results.values()))["counts"]
    tiers = [tier for tier in TIERS if tier in first]
    sizes = {tier: sum(first[tier].values()) for tier in tiers}
    lines = [
        "| library | " + " | ".join(f"{tier} ({sizes[tier]})" for tier in tiers) + " |",
        "|---" * (len(tiers) + 1) + "|",
    ]
    for peer, result in results.items():
        cells = (
            " / ".join(str(result["counts"][tier].get(key, 0)) for key in ("right", "missed", "wrong"))
            for tier in tiers
        )
        lines.append(f"| {peer} | " + " | ".join(cells) + " |")
    keys = list(next(iter(results.values()))["speed"])
    lines += ["", "| library | " + " | ".join(f"{key} B" for key in keys) + " |", "|---" * (len(keys) + 1) + "|"]
    for peer, result in results.items():
        cells = (_shown(result["speed"][key]) for key in keys)
        lines.append(f"| {peer} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run the comparison, or one worker."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=ROOT / ".peers", help="directory of the environments")
    parser.add_argument("--only", metavar="NAME", nargs="+", choices=PACKAGES, default=list(PACKAGES))
    parser.add_argument("--write", type=Path, help="page with the two markers around the tables")
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments.worker)
        return
    lines = cases()
    results: dict[str, dict[str, Any]] = {}
    for peer in arguments.only:
        try:
            results[peer] = measure(peer, arguments.folder, lines)
        except subprocess.CalledProcessError as exc:
            print(f"{peer}: {exc.stderr or exc}", file=sys.stderr)
    text = tables(results)
    print(text)
    if arguments.write:
        write_between(arguments.write, "peers", text)


if __name__ == "__main__":
    main()

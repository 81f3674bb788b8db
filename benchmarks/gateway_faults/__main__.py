"""Sends every combination of fault, fallback and client API through `helmdeck serve`, in real time, and judges the responses.

python -m benchmarks.gateway_faults                          # every combination: several minutes
python -m benchmarks.gateway_faults --seconds none once      # only some fallbacks
python -m benchmarks.gateway_faults --write                  # write docs/benchmarks/gateway-faults.md as well
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import json
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.gateway.servers import ROOT, process
from benchmarks.gateway_faults.cases import DEADLINE_S, SECONDS, SILENCE_S, all_cases, configuration, plans_of
from benchmarks.gateway_faults.judge import PATHS, Case, Outcome, judge
from benchmarks.gateway_faults.upstream import ScriptedUpstream

PAGE = ROOT / "docs" / "benchmarks" / "gateway-faults.md"
AT_ONCE = 24
SLACK_S = 2.0
"""Seconds beyond the deadline that a busy machine may take."""
HEAD = f"""\
# Failing upstreams behind the gateway

Every fault of a first model, in each kind of answer where it can occur (text, reasoning and text, two tool calls), combined with what
its fallback does, and with each client API, streamed and whole. The client sends one request through `helmdeck serve`, which has a
deadline of {DEADLINE_S:g} s and silence limits of {SILENCE_S:g} s. A response is *right* if it is complete, a text that ends with the finish
reason of the output limit, or a typed error in the client's API; if it arrives before the deadline; if no text appears twice or
out of order; if a stream ends with a finish reason or an error event; and if it is complete wherever a server can give the answer.

`python -m benchmarks.gateway_faults --write` measures it again.
"""


async def send(session: aiohttp.ClientSession, url: str, number: int, case: Case) -> Outcome:
    """Send the request of a case and read its response to the end."""
    start_s = time.perf_counter()
    try:
        async with asyncio.timeout(DEADLINE_S + 4 * SLACK_S):
            async with session.post(url + PATHS[case.dialect], json=case.body(f"m{number}")) as response:
                raw = await response.read()
                kind = response.headers.get("content-type", "")
                return Outcome(response.status, kind, raw, time.perf_counter() - start_s)
    except TimeoutError:
        return Outcome(error="no end")
    except aiohttp.ClientError as exc:
        return Outcome(error=f"connection {type(exc).__name__}")


async def outcomes(cases: Sequence[Case]) -> list[Outcome]:
    """Send every case."""
    async with ScriptedUpstream(plans_of(cases)) as upstream:
        with tempfile.TemporaryDirectory() as folder:
            config = configuration(cases, upstream.base_url, "http://127.0.0.1:9/v1")
            write_config(Path(folder), config)
            with contextlib.ExitStack() as stack:
                _, line = stack.enter_context(process(*SERVE, folder=Path(folder), reads="stderr"))
                url = f"http://{line.partition('http://')[2].partition(';')[0]}"
                limit = asyncio.Semaphore(AT_ONCE)
                async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

                    async def one(number: int, case: Case) -> Outcome:
                        async with limit:
                            return await send(session, url, number, case)

                    # The first request loads modules, which takes a part of the silence limit of those beside it.
                    async with session.post(
                        url + PATHS["chat"], json=Case("404", "text", "", "chat", False).body("one/0")
                    ):
                        pass
                    return await asyncio.gather(*(one(number, case) for number, case in enumerate(cases)))


SERVE = ("helmdeck_core.cli", "serve", "--port", "0", "--no-traces")


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """Write a configuration file."""
    (folder / "helmdeck.toml").write_text("\n".join(toml(config)), encoding="utf-8")


def toml(table: dict[str, Any], path: str = "") -> Iterable[str]:
    """Yield a configuration as lines of TOML."""
    if path:
        yield f"[{path}]"
    yield from (
        f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items() if not isinstance(value, dict)
    )
    for key, value in table.items():
        if isinstance(value, dict):
            yield from toml(value, f"{path}.{key}" if path else key)


def summary(cases: Sequence[Case], judged: Sequence[tuple[str, str]]) -> Iterable[str]:
    """Yield the tables."""
    yield "| fallback | requests | complete | part, ends with the output limit | typed error | wrong |"
    yield "|---|--:|--:|--:|--:|--:|"
    rows: dict[str, collections.Counter[str]] = {}
    for case, (verdict, problem) in zip(cases, judged, strict=True):
        column = "wrong" if problem else "error" if verdict.startswith("error") else verdict
        rows.setdefault(case.second, collections.Counter())[column] += 1
    titles = {"": "none", "once": "none; the model fails once", "none": "answers"}
    for name, found in rows.items():
        cells = [found["complete"], found["partial, length"], found["error"], found["wrong"]]
        yield f"| {titles.get(name, name)} | {found.total()} | {' | '.join(map(str, cells))} |"


def main() -> None:
    """Measure, judge, print, and write the page if it is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", nargs="*", default=SECONDS, help="what the fallbacks do")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    arguments = parser.parse_args()
    cases = list(all_cases(arguments.seconds))
    found = [each for second in arguments.seconds for each in asyncio.run(outcomes(list(all_cases([second]))))]
    judged = [judge(case, outcome, DEADLINE_S + SLACK_S) for case, outcome in zip(cases, found, strict=True)]
    for case, (verdict, problem) in zip(cases, judged, strict=True):
        if problem:
            print(
                f"{case.fault} | {case.kind} | {case.second} | {case.dialect} {'stream' if case.streams else 'whole'} | {verdict} | {problem}"
            )
    text = "\n".join(summary(cases, judged))
    print(text)
    if arguments.write:
        PAGE.write_text(f"{HEAD}\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Measures the overhead of a call over a bare request to the same server, in Helmdeck and other libraries.

python -m benchmarks.overhead                         # creates the environments once, then prints the tables
python -m benchmarks.overhead --write PAGE.md         # also writes them between the markers of the page
python -m benchmarks.overhead --parts streams         # only one part
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.conformance.__main__ import ROOT, python_of
from benchmarks.overhead.clients import CLIENTS, TRANSPORTS
from benchmarks.overhead.streams import AT_ONCE, DRIP_S, PIECES, WIRES

CALLS = 5_000
TITLES = {
    "aiter_bytes": "`aiter_bytes` of `httpx2`",
    "iter_any": "`iter_any` of `aiohttp`",
    "iter_chunks": "`iter_chunks` of `aiohttp`",
    "iter_any, msgspec": "`iter_any`, each event decoded with msgspec",
    "aiter_lines, msgspec": "`aiter_lines`, each decoded with msgspec",
    "litellm.acompletion": "`litellm.acompletion`",
    "pydantic_ai.Agent.run_stream": "`pydantic_ai.Agent.run_stream`",
}
BESIDE = {
    "deck.astream, httpx": "aiter_bytes",
    "deck.astream, aiohttp": "iter_any",
    "iter_any": "iter_any",
    "iter_chunks": "iter_any",
    "iter_any, msgspec": "iter_any",
}
"""What a way to read is compared with, where it is not ``aiter_bytes``."""


def rows_of(module: str, name: str, python: str, url: str, *more: str) -> list[dict[str, Any]]:
    """Run one client and return its output."""
    command = [python, "-m", f"benchmarks.overhead.{module}", name, url, *more]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{name} failed:\n{ran.stderr[-2000:]}")
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def calls(url: str, clients: list[str], venvs: Path) -> list[str]:
    """What calls cost, as Markdown."""
    lines = ["| call | at once | CPU, µs | bare, µs | ratio of medians | ratio of bests |", "|---|--:|--:|--:|--:|--:|"]
    for name in clients:
        for row in rows_of("clients", name, python_of(name, venvs), url):
            times = f"{row['p50_us']:,.0f} | {row['bare_us']:,.0f} | {row['ratio']:.2f} | {row['best']:.2f}"
            lines.append(f"| `{row['call']}` | {row['at_once']} | {times} |")
    lines += ["", f"Memory in KiB during {CALLS:,} calls, sampled five times:", ""]
    for held in rows_of("clients", "memory", sys.executable, url, str(CALLS)):
        sizes = ", ".join(f"{size / 1024:,.0f}" for size in held["held_bytes"])
        lines.append(f"- `{held['call']}`: {sizes}")
    return lines


def libraries(url: str, _: list[str], __: Path) -> list[str]:
    """What the libraries cost alone, as Markdown."""
    rows = rows_of("clients", "libraries", sys.executable, url)
    names = [name for name in rows[0] if name != "at_once"]
    lines = [f"| CPU per POST, µs | {' | '.join(str(row['at_once']) for row in rows)} |", "|---|" + "--:|" * len(rows)]
    return lines + [f"| `{name}` | {' | '.join(f'{row[name]:,.0f}' for row in rows)} |" for name in names]


def waiting(url: str, clients: list[str], venvs: Path) -> list[str]:
    """What calls cost that wait at once, as Markdown."""
    lines = ["| call | at once | CPU, µs | bare, µs | ratio of medians | ratio of bests |", "|---|--:|--:|--:|--:|--:|"]
    for name in clients:
        for row in rows_of("clients", name, python_of(name, venvs), url, "waiting"):
            times = f"{row['us']:,.0f} | {row['bare_us']:,.0f} | {row['us'] / row['bare_us']:.2f} | {row['best']:.2f}"
            lines.append(f"| `{row['call']}` | {row['at_once']} | {times} |")
    return lines


def streams(url: str, clients: list[str], venvs: Path) -> list[str]:
    """Return the cost of streams as Markdown."""
    rows = {name: rows_of("streams", name, python_of(name, venvs), url) for name in clients}
    (first,), (drip,) = (rows_of("streams", name, sys.executable, url) for name in ("first", "drip"))
    lines = [
        "| how it is read | gives | CPU, µs a chunk | ratio of medians | ratio of bests |",
        "|---|--:|--:|--:|--:|",
    ]
    chat, *_ = rows["helmdeck"]
    for row in [chat, *(row for name in clients if name != "helmdeck" for row in rows[name])]:
        for way in sorted(row["times"], key=lambda way: statistics.median(_cpu(row, way))):
            if way != "aiter_bytes" or row is chat:
                each = statistics.median(_cpu(row, way)) / PIECES * 1e6
                beside = BESIDE.get(way, "aiter_bytes")
                ratios = " | ".join(f"{ratio:.2f}" for ratio in _ratios(_cpu(row, way), _cpu(row, beside)))
                lines.append(f"| {TITLES.get(way, f'`{way}`')} | {row['counted'][way]:,} | {each:.1f} | {ratios} |")
    lines += ["", "| `deck.astream` in | text, httpx | reasoning, httpx | text, aiohttp | reasoning, aiohttp |"]
    lines += ["|---|--:|--:|--:|--:|"]
    formats = {name: [row for row in rows["helmdeck"] if row["wire_format"] == name] for name in WIRES}
    for name, both in formats.items():
        found = [
            _ratios(_cpu(row, f"deck.astream, {transport}"), _cpu(row, BESIDE[f"deck.astream, {transport}"]))[0]
            for transport in TRANSPORTS
            for row in both
        ]
        lines.append(f"| {name} | {' | '.join(f'{median:.2f}' for median in found)} |")
    head = [f"{statistics.median(first[way]) * 1e3:.2f} ms" for way in first]
    slow = [f"{statistics.median(drip[way]) * 1e6:.0f} µs" for way in drip]
    times = [_ratios(found["deck.astream"], found["aiter_bytes"])[0] for found in (first, drip)]
    what = f"{AT_ONCE} concurrent streams of an event each {DRIP_S * 1e3:.0f} ms"
    return [
        *lines,
        "",
        f"Until the first bytes of a stream, bare: {head[0]}; until its first delta: {head[1]} ({times[0]:.2f}).",
        f"{what}, CPU per event, bare: {slow[0]}; `deck.astream`: {slow[1]} ({times[1]:.2f}).",
    ]


def _cpu(row: dict[str, Any], way: str) -> list[float]:
    return [cpu for cpu, _ in row["times"][way]]


def _ratios(ours: list[float], bare: list[float]) -> tuple[float, float]:
    """Return the ratios of medians and of best times."""
    return statistics.median(ours) / statistics.median(bare), min(ours) / min(bare)


PARTS = {"libraries": libraries, "calls": calls, "waiting": waiting, "streams": streams}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--venvs", type=Path, default=Path.home() / ".cache" / "helmdeck-peers", help="directory of the environments"
    )
    parser.add_argument("--only", nargs="*", default=list(CLIENTS), choices=list(CLIENTS))
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--write", type=Path, help="a page with the marks <!-- PART --> and <!-- end -->")
    arguments = parser.parse_args()
    command = [sys.executable, "-m", "benchmarks.overhead.server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            for part in arguments.parts:
                lines = PARTS[part](url, arguments.only, arguments.venvs)
                print("\n".join(lines), flush=True)
                if arguments.write:
                    write(arguments.write, part, lines)
        finally:
            server.terminate()


def write(page: Path, part: str, lines: list[str]) -> None:
    """Put lines between the marks of a page."""
    text = page.read_text(encoding="utf-8")
    head, mark, rest = text.partition(f"<!-- {part} -->\n")
    _, _, tail = rest.partition("<!-- end -->")
    page.write_text(f"{head}{mark}{chr(10).join(lines)}\n<!-- end -->{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()

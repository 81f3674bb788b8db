"""Runs unmodified clients over the same failing model, with and without the gateway, and writes a table of outcomes.

GATEWAY_TEST_CLIENTS=FOLDER python -m benchmarks.gateway_clients [--write] [--only NAME ...] [--faults E,C]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.gateway_clients.gateway import serving, settings
from benchmarks.gateway_clients.model import FAULTS, TEXT, client_model
from benchmarks.gateway_clients.programs import LIBRARIES, PROGRAMS, Outcome, setting_in
from benchmarks.pages import write_between

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks" / "gateway-clients.md"
LIMIT_S = 60.0
COLUMNS = ("E", "C", "T", "M")
HALF = TEXT[: len(TEXT) // 2].strip()


def clients() -> Iterator[tuple[str, str, str]]:
    """Yield name, API and case of each client; programs have no case."""
    for program in PROGRAMS.values():
        yield program.name, program.api, ""
    for library in LIBRARIES.values():
        for api, case in library.streams.items():
            yield library.name, api, case


def reason(name: str) -> str:
    """Return why a client cannot be run; empty if it can."""
    return PROGRAMS[name].reason() if name in PROGRAMS else LIBRARIES[name].reason()


def run(name: str, case: str, url: str, folder: Path) -> Outcome:
    """Run a client once."""
    setting = setting_in(folder, url)
    if name in PROGRAMS:
        return PROGRAMS[name].run(setting, limit_s=LIMIT_S)
    return LIBRARIES[name].run(setting, case, limit_s=LIMIT_S)


def describe(ran: Outcome, case: str) -> str:
    """Return what the user of a client sees."""
    text, error = ran.output, "" if ran.status in (0, None) else f"exit {ran.status}"
    if case:
        row = ran.rows.get(case, {})
        text, failure = row.get("text", ""), row.get("error", "")
        error = f"`{failure.partition(':')[0]}`" if failure else error
    if ran.status is None:
        return f"killed after {LIMIT_S:.0f} s"
    if TEXT in text or (not case and TEXT in ran.errors and not error):
        return "right" if not error else f"right, then {error}"
    shown = "half of the text" if HALF in text else "empty" if case or not _has_error(ran) else "error text"
    if error:
        return f"{error}, half of the text" if HALF in text else error
    return f"**silent: {shown}**" if shown != "error text" else shown


def _has_error(ran: Outcome) -> bool:
    """Whether a program that ends with exit status 0 reports a problem."""
    shown = (ran.output + ran.errors).lower()
    return any(word in shown for word in ("empty response", "error:", "failed to", "format error", "exception"))


def measure(name: str, api: str, case: str, fault: str) -> dict[str, Any]:
    """Run one client over one failing model, without and with the gateway."""
    row: dict[str, Any] = {"client": name, "api": api, "fault": fault}
    with tempfile.TemporaryDirectory() as scratch, client_model(fault) as first, client_model() as spare:
        alone = run(name, case, first.root_url, Path(scratch, "alone"))
        row |= {"without": describe(alone, case), "requests without": len(first.calls)}
        first.requests.clear()
        with serving(settings(first.base_url, spare.base_url, api), Path(scratch)) as url:
            through = run(name, case, url, Path(scratch, "through"))
        row |= {"with": describe(through, case), "requests with": len(first.calls) + len(spare.calls)}
    print(json.dumps(row), flush=True)
    return row


def table(rows: Sequence[dict[str, Any]], faults: Sequence[str]) -> str:
    """Return the outcomes as a table: without the gateway, then with it."""
    heads = [f"{fault}, {way}" for fault in faults for way in ("without", "with")]
    lines = [f"| client | API | {' | '.join(heads)} |", f"|---|---|{'---|' * len(heads)}"]
    found = {(row["client"], row["api"], row["fault"]): row for row in rows}
    for name, api in dict.fromkeys((row["client"], row["api"]) for row in rows):
        cells = [
            f"{found[name, api, fault][way]}; {found[name, api, fault][f'requests {way}']}"
            for fault in faults
            for way in ("without", "with")
        ]
        lines.append(f"| {name} | {api} | {' | '.join(cells)} |")
    right = [
        f"**{sum(row[way] == 'right' for row in rows if row['fault'] == fault)} of {len(rows) // len(faults)}**"
        for fault in faults
        for way in ("without", "with")
    ]
    return "\n".join([*lines, f"| **right** | | {' | '.join(right)} |"])


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the table of the page")
    parser.add_argument("--only", nargs="+", help="names of clients")
    parser.add_argument("--faults", default=",".join(COLUMNS), help=f"of {', '.join(FAULTS)}")
    parser.add_argument("--at-once", type=int, default=2, help="clients that run at the same time")
    arguments = parser.parse_args()
    faults = arguments.faults.split(",")
    chosen = [each for each in clients() if not arguments.only or each[0] in arguments.only]
    missing = {name: why for name, *_ in chosen if (why := reason(name))}
    for name, why in missing.items():
        print(f"{name}: {why}")
    wanted = [(*client, fault) for client in chosen if client[0] not in missing for fault in faults]
    with ThreadPoolExecutor(arguments.at_once) as pool:
        rows = list(pool.map(lambda each: measure(*each), wanted))
    versions = [
        PROGRAMS[name].version() if name in PROGRAMS else LIBRARIES[name].version()
        for name in dict.fromkeys(each[0] for each in wanted)
    ]
    text = table(rows, faults)
    print(text)
    if arguments.write:
        write_between(PAGE, "outcomes", text)
        write_between(PAGE, "versions", f"Measured with {', '.join(dict.fromkeys(versions))}.")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()

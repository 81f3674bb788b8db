"""Runs the same checks with every SDK over the gateway and a scripted model, and writes the table.

GATEWAY_TEST_CLIENTS=FOLDER python -m benchmarks.gateway_sdks [--write] [--stored] [--only NAME ...] [--checks NAME ...]

The checks of what the gateway stores, ``--stored``, have a table of their own.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.gateway_sdks.checks import CHECKS
from benchmarks.gateway_sdks.clients import SDKS
from benchmarks.gateway_sdks.runner import PASSED, Result, run_checks
from benchmarks.gateway_sdks.stored_checks import STORED_CHECKS
from benchmarks.pages import write_between

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "gateway-sdks.md"


def table(results: Mapping[str, Mapping[str, Result]]) -> str:
    """Return the checks as rows and the SDKs as columns."""
    heads = [f"{name} ({SDKS[name].api})" if "," not in name else name for name in results]
    checks = list(next(iter(results.values())))
    lines = [f"| check | {' | '.join(heads)} |", f"|---|{':-:|' * len(heads)}"]
    lines += [f"| {check} | {' | '.join(found[check].mark for found in results.values())} |" for check in checks]
    passed = [f"**{sum(each.mark == PASSED for each in found.values())}**" for found in results.values()]
    return "\n".join([*lines, f"| **passed of {len(checks)}** | {' | '.join(passed)} |"])


def reasons(results: Mapping[str, Mapping[str, Result]]) -> str:
    """Return the reason of each check that did not pass."""
    lines = ["| SDK | check | | reason |", "|---|---|:-:|---|"]
    for name, found in results.items():
        for check, result in found.items():
            if result.reason:
                reason = " ".join(result.reason.replace("|", "\\|").replace("<", "&lt;").split())
                lines.append(f"| {name} | {check} | {result.mark} | {reason:.160} |")
    return "\n".join(lines)


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the tables of the page")
    parser.add_argument("--only", nargs="+", default=list(SDKS), help=f"of {', '.join(SDKS)}")
    parser.add_argument("--stored", action="store_true", help="run the checks of what the gateway stores")
    parser.add_argument("--checks", nargs="+", help="names of checks")
    arguments = parser.parse_args()
    names = arguments.checks or list(STORED_CHECKS if arguments.stored else CHECKS)
    missing = {name: reason for name in arguments.only if (reason := SDKS[name].reason())}
    for name, reason in missing.items():
        print(f"{name}: {reason}")
    chosen = [SDKS[name] for name in arguments.only if name not in missing]
    results = {sdk.name: run_checks(sdk, names) for sdk in chosen}
    print(table(results), reasons(results), sep="\n\n")
    if arguments.write:
        versions = ", ".join(dict.fromkeys(sdk.version() for sdk in chosen))
        if arguments.stored:
            today = datetime.datetime.now(datetime.UTC).date()
            write_between(PAGE, "stored", f"{table(results)}\n\nMeasured on {today} with {versions}.")
            return
        write_between(PAGE, "checks", table(results))
        write_between(PAGE, "reasons", reasons(results))
        write_between(PAGE, "versions", f"Measured with {versions}.")


if __name__ == "__main__":
    main()

"""Writes the verdicts to ``docs/benchmarks/attacks.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.attacks.cases import GROUPS, KINDS
from benchmarks.attacks.runner import ROOT, Outcome

PAGE = ROOT / "docs" / "benchmarks" / "attacks.md"
TITLES = {
    "door": "Keys, callers and slow clients of the gateway",
    "smuggling": "Framing of requests",
    "bodies": "Bodies and JSON of requests",
    "budgets": "Limits and spend",
    "upstream": "Providers",
    "tools": "MCP servers",
    "packs": "Packs that write files and fetch pages",
    "plugins": "Plugins",
    "stores": "Stores",
    "process": "Processes",
    "secrets": "Planted secrets",
}
HEAD = """\
# Attacks

What an attacker, a failing server or a careless neighbour can do to Helmdeck, as runnable cases. [SECURITY.md](../../SECURITY.md) states
what is promised. Each case uses real parts: `helmdeck serve` as a process on loopback, raw connections, servers and MCP servers that
misbehave, databases on disk. A case is *held* only if that is visible from outside: by status, state, memory, or another client that is
still served while `/healthz` answers within a second. *Degraded* is a promise that is kept with a visible loss, *broken* one that is not
kept.

`python -m benchmarks.attacks --write` measures it again in about eight minutes on two cores; `--quick` reduces sizes and counts (1,000
instead of 10,000 idle connections, 40 MB instead of 200 MB bodies, 100 instead of 1,000 decks, 8 instead of 50 killed processes) and takes
two minutes. Seconds and megabytes are those of one run on one machine.
"""


def write_page(outcomes: Sequence[Outcome], report: Mapping[str, Any]) -> None:
    """Write the page."""
    scale = "quick run" if report["is_quick"] else "full run"
    lines = [HEAD, f"The last {scale}: {report['cases']} cases in {report['seconds']:.0f} s.", ""]
    lines += ["| group | cases | held | degraded | broken |", "|---|--:|--:|--:|--:|"]
    groups = {group: [each for each in outcomes if each.case.group == group] for group in GROUPS}
    for group, found in groups.items():
        counts = [sum(each.verdict.kind == kind for each in found) for kind in KINDS]
        lines.append(f"| {TITLES[group]} | {len(found)} | {' | '.join(map(str, counts))} |")
    for group, found in groups.items():
        lines += ["", f"## {TITLES[group]}", "", "| attack | verdict | observed | reference |", "|---|---|---|---|"]
        lines += [
            f"| {_cell(each.case.name)} | {each.verdict.kind} | {_cell(each.verdict.reason)} | {_cell(each.case.reference)} |"
            for each in found
        ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cell(text: str) -> str:
    line = " ".join(text.split())
    return line.replace("|", "\\|").replace("<", "&lt;").replace("`", "'")

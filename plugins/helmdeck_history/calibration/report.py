"""The result of a calibration as a budget row, a table, plain data and a curve."""

from __future__ import annotations

import datetime
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_cli import SettingsTable, proposed_chooser
from helmdeck_core import CHOSEN_BY_MODEL
from helmdeck_history.calibration.session import Outcome

TIER_A_BYTES, TIER_B_BYTES = 50_000, 15_000
"""Catalog sizes from which a model counts as tier A or B; see the tiers of the budget table."""

WIDTH, HEIGHT, MARGIN = 640, 300, 48


def budget_row(outcome: Outcome, route: str, day: datetime.date) -> dict[str, Any]:
    """Return the fields of the model's budget that were measured."""
    claimed = outcome.claimed
    row: dict[str, Any] = {
        "tier": "C" if claimed is None or claimed < TIER_B_BYTES else "B" if claimed < TIER_A_BYTES else "A"
    }
    if claimed or (has_successes(outcome) and not outcome.stopped):
        row["max_catalog_bytes"] = claimed or outcome.counts[0].size // 2
    probes = outcome.probes
    json_probe = probes.get("strict_json", {})
    # Two rows without a right answer compare nothing.
    if json_probe and (json_probe["constrained"] or json_probe["plain"]):
        is_better = json_probe["constrained"] >= json_probe["plain"] and not json_probe["is_downgraded"]
        row["wants_strict_json"] = is_better
        if is_better and row["tier"] == "C":  # which takes JSON mode from servers alone that keep a schema
            row["enforces_schema"] = True
    if (chosen := chooser(outcome)) != CHOSEN_BY_MODEL:
        row["chooser"] = chosen
    if (first := probes.get("first_token", {}).get("max_s")) is not None:
        row["first_token_timeout_s"] = max(5.0, round(3 * first + 1, 1))
    row["evidence"] = evidence(outcome, route, day)
    return row


def has_successes(outcome: Outcome) -> bool:
    """Whether any plan was right. Without one, no size of a catalog is a budget: the model is unusable for structured work."""
    return any(each.successes for each in outcome.counts)


def chooser(outcome: Outcome) -> str:
    """Return what should choose the tools for the model; ``model`` where that was not measured."""
    facts = outcome.probes.get("choice", {})
    if not facts.get("tool_requests"):
        return CHOSEN_BY_MODEL
    return proposed_chooser(
        ranker_only=facts["ranker_only"], model_only=facts["model_only"], has_likelihoods=facts["has_likelihoods"]
    )


def conclusion(outcome: Outcome) -> str:
    """Return what the result means for plans, in one or two sentences."""
    if outcome.claimed:
        found = f"the model plans over catalogs of up to {outcome.claimed:,} bytes; larger ones are trimmed to that"
    elif not outcome.counts:
        return "nothing was measured"
    elif outcome.stopped:
        return f"not finished: no size has passed after {outcome.calls} calls; the same command continues"
    else:
        smallest = outcome.counts[0]
        found = (
            f"no size passed: of {smallest.trials} plans over the smallest catalog, {smallest.size:,} bytes, {smallest.successes} were "
            f"right, so the model cannot be trusted to find a tool in a catalog"
        )
    chosen = chooser(outcome)
    if chosen == CHOSEN_BY_MODEL:
        return found if outcome.claimed else f"{found}; use another model for plans"
    return (
        f"{found}. The row makes {chosen!r} choose the tool, from a catalog of any size; the model only writes the arguments of the "
        f"chosen tool, and text"
    )


def evidence(outcome: Outcome, route: str, day: datetime.date) -> str:
    """Return the source of the row: counts, bound, date and route."""
    what = _measured(outcome)
    facts = outcome.probes.get("choice", {})
    if facts.get("tool_requests"):
        what += (
            f"; {facts['right_tools']} of {facts['tool_requests']} tools right, the ranker {facts['right_by_ranker']}"
        )
    if chooser(outcome) != CHOSEN_BY_MODEL:
        what += ": worth its time for text, not for choosing"
    end = f", stopped by {outcome.stopped}" if outcome.stopped else ""
    return f"calibrated {day.isoformat()} by {route}: {what}; {outcome.calls} calls{end}"


def _measured(outcome: Outcome) -> str:
    """What the trials show."""
    at = next((each for each in outcome.counts if each.size == outcome.claimed), None)
    if at is not None:
        return (
            f"{at.successes} of {at.trials} plans right at {at.size:,} bytes (at least {at.bound:.0%}, one-sided 95 %)"
        )
    if not outcome.counts:
        return "no trial"
    trials, right = sum(each.trials for each in outcome.counts), sum(each.successes for each in outcome.counts)
    if outcome.stopped:
        return f"no size has passed so far, {right} of {trials} plans right"
    if not right:
        return f"unusable for structured work: none of {trials} plans was right"
    return f"no size passed, the smallest was {outcome.counts[0].size:,} bytes"


def as_toml(model: str, row: Mapping[str, Any]) -> str:
    """Return the row as a table of ``helmdeck.toml``.

    >>> from helmdeck_history import as_toml
    >>> print(as_toml("acme/large", {"tier": "B", "max_catalog_bytes": 18000}))
    [budgets."acme/large"]
    tier = "B"
    max_catalog_bytes = 18000
    """
    return SettingsTable(("budgets", model), row).toml


def to_dict(outcome: Outcome, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome as plain data."""
    return {
        "model": outcome.model,
        "is_complete": not outcome.stopped,
        "stopped": outcome.stopped or None,
        "claimed_bytes": outcome.claimed,
        "calls": outcome.calls,
        "cost_usd": outcome.cost_usd,
        "median_latency_s": outcome.median_latency_s,
        "conclusion": conclusion(outcome),
        "sizes": [
            {
                "bytes": each.size, "trials": each.trials, "successes": each.successes,
                "lower_bound": round(each.bound, 3), "causes": dict(each.causes),
            }
            for each in outcome.counts
        ],
        "probes": {name: dict(result) for name, result in outcome.probes.items()},
        "budget": dict(row),
    }  # fmt: skip


def size_rows(outcome: Outcome) -> list[tuple[str, ...]]:
    """Return one row per size: bytes, successes of trials, rate, lower bound, causes, whether it is claimed."""
    return [
        (
            f"{each.size:,}",
            f"{each.successes} of {each.trials}",
            f"{each.successes / each.trials:.0%}",
            f"{each.bound:.0%}",
            ", ".join(f"{cause} {count}" for cause, count in each.causes.items()),
            "claimed" if each.size == outcome.claimed else "",
        )
        for each in outcome.counts
    ]


def probe_rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Return one row per probe: name, then a text per outcome."""
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.probes)
    return [
        (name.replace("_", " "), *(_probe_text(name, each.probes.get(name)) for each in outcomes)) for name in names
    ]


def _probe_text(name: str, result: Mapping[str, Any] | None) -> str:
    if result is None:
        return "not run"
    match name:
        case "first_token" if result["median_s"] is None:
            return f"none of {result['trials']} streams"
        case "first_token":
            return f"median {result['median_s']:.2f} s, longest {result['max_s']:.2f} s"
        case "output_length":
            return f"{result['lines']:,} of {result['of']:,} lines complete"
        case "strict_json":
            form = "constrained, downgraded" if result["is_downgraded"] else "constrained"
            return (
                f"{result['constrained']} of {result['trials']} {form}, {result['plain']} of {result['trials']} plain"
            )
        case "choice" if not result.get("tool_requests"):
            return "not run"
        case "choice":
            return f"{result['right_tools']} of {result['tool_requests']} right, the ranker {result['right_by_ranker']}"
        case _ if {"passed", "trials"} <= result.keys():
            return f"{result['passed']} of {result['trials']}"
        case _:
            return json.dumps(dict(result), ensure_ascii=False)


def curve(outcomes: Sequence[Outcome]) -> str:
    """Return an SVG: success rate by catalog size, with the lower bound of each, one line per outcome."""
    sizes = sorted({each.size for outcome in outcomes for each in outcome.counts})
    if not sizes:
        return ""
    step = (WIDTH - 2 * MARGIN) / max(1, len(sizes) - 1)
    x = {size: MARGIN + place * step for place, size in enumerate(sizes)}

    def y(rate: float) -> float:
        return HEIGHT - MARGIN - rate * (HEIGHT - 2 * MARGIN)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">',
        f'<text x="{MARGIN}" y="20" font-size="13">Right plans by catalog size (KB); bars: lower bound, one-sided 95 %</text>',
    ]
    for rate in (0.0, 0.5, 0.8, 1.0):
        lines.append(f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y(rate):.1f}" y2="{y(rate):.1f}" stroke="#ddd"/>')
        lines.append(f'<text x="{MARGIN - 6}" y="{y(rate) + 4:.1f}" text-anchor="end">{rate:.0%}</text>')
    lines += [
        f'<text x="{x[size]:.1f}" y="{HEIGHT - MARGIN + 16}" text-anchor="middle">{size / 1024:.3g}</text>'
        for size in sizes
    ]
    for number, outcome in enumerate(outcomes):
        colour = ("#1f6feb", "#d1242f", "#2da44e", "#8250df")[number % 4]
        points = [(x[each.size], y(each.successes / each.trials), y(each.bound), each) for each in outcome.counts]
        lines.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="'
            + " ".join(f"{px:.1f},{py:.1f}" for px, py, _, _ in points)
            + '"/>'
        )
        for px, py, bound, each in points:
            lines.append(f'<line x1="{px:.1f}" x2="{px:.1f}" y1="{py:.1f}" y2="{bound:.1f}" stroke="{colour}"/>')
            radius = 6 if each.size == outcome.claimed else 3
            title = html.escape(f"{outcome.model}: {each.successes} of {each.trials} at {each.size:,} bytes")
            lines.append(
                f'<circle cx="{px:.1f}" cy="{py:.1f}" r="{radius}" fill="{colour}"><title>{title}</title></circle>'
            )
        lines.append(
            f'<text x="{WIDTH - MARGIN}" y="{36 + 14 * number}" text-anchor="end" fill="{colour}">{html.escape(outcome.model)}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])

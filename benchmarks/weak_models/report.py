"""Tables and text of the page, from the JSON of one measurement or of several models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.weak_models.results import interval

TITLES: Mapping[str, str] = {
    "helped": "Helmdeck",
    "ranker": "Helmdeck's ranker alone",
    "logprobs": "Helmdeck, choice by probability",
    "raw": "raw prompt",
    "llama_json_schema": "raw prompt and JSON Schema",
    "openai_tools": "openai SDK, native tools",
    "typed_gguf": "typed-gguf, in process",
    "instructor": "instructor",
    "pydantic_ai": "pydantic-ai",
    "outlines": "outlines",
    "uncut": "one answer without a limit",
}
SIZES = ("pick_50", "pick_200", "pick_1000")
TASK_TITLES: Mapping[str, str] = {
    "pick_50": "pick one of 50",
    "pick_200": "pick one of 200",
    "pick_1000": "pick one of 1,000",
    "typed": "typed answer",
    "plan": "plan of 2 to 4 steps",
    "long": "long output",
    "calibrate": "plans with the calibrated budget",
}

Report = Mapping[str, Any]


def percent(count: float, of: float) -> str:
    """Return a share in percent; a dash without observations."""
    return f"{100 * count / of:.0f} %" if of else "-"


def with_interval(sums: Mapping[str, Any], key: str = "right") -> str:
    """Return a share with its interval."""
    if not sums["n"]:
        return "-"
    low, high = interval(sums[key], sums["n"], sums["requests"])
    return f"{percent(sums[key], sums['n'])} ({100 * low:.0f} to {100 * high:.0f})"


def _each(sums: Mapping[str, Any], key: str, digits: int = 0) -> str:
    return f"{sums[key] / sums['n']:,.{digits}f}" if sums["n"] else "-"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    line = "|".join(["---"] * texts + ["--:"] * (len(head) - texts))
    return "\n".join([f"| {' | '.join(head)} |", f"|{line}|", *(f"| {' | '.join(row)} |" for row in rows)])


def _ways(found: Report, task: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    ways = found.get(task, {})
    yield from ((way, ways[way]) for way in TITLES if way in ways)


def pick_table(found: Report) -> str:
    """One row for each size and way."""
    rows = [
        (
            TASK_TITLES[task].removeprefix("pick one of "), TITLES[way], str(sums["n"]), percent(sums["valid"], sums["n"]),
            with_interval(sums), str(sums["invented"]), _each(sums, "calls", 2), _each(sums, "prompt_tokens"),
            _each(sums, "output_tokens"), _each(sums, "seconds", 1),
        )
        for task in SIZES
        for way, sums in _ways(found, task)
    ]  # fmt: skip
    head = (
        "tools",
        "way",
        "n",
        "valid",
        "right tool",
        "invented",
        "calls",
        "prompt tokens",
        "output tokens",
        "seconds",
    )
    return _table(head, rows, 2)


def set_table(reports: Mapping[str, Report]) -> str:
    """Helmdeck and its ranker alone among 50 tools, one row for each model and set of requests."""
    rows = []
    for model, found in reports.items():
        beside = found.get("comparisons", {}).get(SIZES[0], {}).get("helped_vs_ranker", {})
        sums = [found.get(SIZES[0], {}).get(way, {"right": 0}) for way in ("helped", "ranker")]
        whole = {**beside, "right": [each["right"] for each in sums]}
        for name, each in {**beside.get("sets", {}), **({"all": whole} if beside else {})}.items():
            helped, ranker = (percent(right, each["requests"]) for right in each["right"])
            changed = f"{each['better']}, {each['worse']}"
            rows.append((model, name, str(each["requests"]), helped, ranker, changed, _points(each)))
    head = (
        "model",
        "requests of",
        "n",
        "Helmdeck",
        "ranker alone",
        "better, worse",
        "difference",
    )
    return _table(head, rows, 2)


def _points(beside: Mapping[str, Any]) -> str:
    return f"{100 * beside['difference']:+.1f} points, at least {100 * beside['above']:+.1f} (one-sided 95 %)"


def typed_table(found: Report) -> str:
    """One row for each way."""
    rows = [
        (
            TITLES[way], str(sums["n"]), with_interval(sums, "valid"), with_interval(sums),
            percent(sums["details"].get("right_fields", 0), sums["details"].get("fields", 0)),
            _each(sums, "calls", 2), _each(sums, "output_tokens"), _each(sums, "seconds", 1),
        )
        for way, sums in _ways(found, "typed")
    ]  # fmt: skip
    head = (
        "way",
        "n",
        "valid",
        "all values right",
        "values right, of valid answers",
        "calls",
        "output tokens",
        "seconds",
    )
    return _table(head, rows)


def plan_table(found: Report) -> str:
    """One row for each way."""
    rows = [
        (
            TITLES[way], str(sums["n"]), percent(sums["valid"], sums["n"]), str(sums["invented"]),
            percent(sums["details"].get("right_steps", 0), sums["details"].get("steps", 0)),
            *(percent(sums["details"].get(key, 0), sums["n"]) for key in ("has_tools", "in_order")),
            with_interval(sums), _each(sums, "calls", 2), _each(sums, "seconds", 1),
        )
        for way, sums in _ways(found, "plan")
    ]  # fmt: skip
    head = (
        "way", "n", "valid", "invented", "tools found, of valid plans", "exactly the right tools", "in the right order",
        "with the stated arguments", "calls", "seconds",
    )  # fmt: skip
    return _table(head, rows)


def long_table(found: Report) -> str:
    """One row for each way."""
    rows = [
        (
            TITLES[way], str(sums["n"]), with_interval(sums, "valid"), with_interval(sums),
            str(found.get("same_as_uncut", {}).get(way, "-")), _each(sums, "calls", 2), _each(sums, "seconds", 1),
        )
        for way, sums in _ways(found, "long")
    ]  # fmt: skip
    head = ("way", "n", "complete", "complete and undamaged", "same text as without a limit", "calls", "seconds")
    return _table(head, rows)


def cause_table(found: Report) -> str:
    """Failures by cause, one row for each task and way."""
    rows = []
    for task, title in TASK_TITLES.items():
        for way, sums in _ways(found, task):
            causes = ", ".join(f"{cause} {count}" for cause, count in sums["causes"].items()) or "none"
            rows.append((title, TITLES[way], str(sums["n"]), causes))
    return _table(("task", "way", "n", "failures by cause"), rows, 4)


def comparison_lines(found: Report) -> tuple[list[str], list[str]]:
    """Where help is not better than the raw prompt, or worse than the ranker alone; and where it is better."""
    poor, good = list[str](), list[str]()
    for task, title in TASK_TITLES.items():
        ways = found.get(task, {})
        if not {"helped", "raw"} <= ways.keys() or not ways["helped"]["n"] or not ways["raw"]["n"]:
            continue
        for key in ("valid", "right"):
            helped, raw = (ways[way][key] / ways[way]["n"] for way in ("helped", "raw"))
            line = f"{title}, {key}: {percent(helped, 1)} with Helmdeck, {percent(raw, 1)} with the raw prompt"
            (good if helped > raw else poor).append(line)
    for task in SIZES:
        beside = found.get("comparisons", {}).get(task, {}).get("helped_vs_ranker")
        if beside:
            line = (
                f"{TASK_TITLES[task]}, beside the ranker alone: right on {beside['better']} requests more and on "
                f"{beside['worse']} fewer of {beside['requests']}"
            )
            if "difference" in beside:
                line += f"; the difference is {_points(beside)}"
            (good if beside["better"] > beside["worse"] else poor).append(line)
    return poor, good


def summary(name: str, found: Report) -> str:
    """The first paragraph: where help does not help, before where it does."""
    poor, good = comparison_lines(found)
    lines = [f"With {name}, Helmdeck is not better in {len(poor)} of {len(poor) + len(good)} comparisons:", ""]
    lines += [f"- {line}" for line in poor] or ["- none"]
    if good:
        lines += ["", "and better in these:", "", *(f"- {line}" for line in good)]
    return "\n".join(lines)


def calibration_text(found: Report) -> str:
    """What the calibration found, and whether its budget holds."""
    calibrated = found.get("calibration")
    if not calibrated:
        return "Not measured."
    claimed, calls = calibrated.get("claimed_bytes"), calibrated.get("calls")
    if calls is None:
        return f"`helmdeck calibrate` ended without a result: {calibrated.get('failure')}."
    what = f"catalogs of {claimed:,} bytes work" if claimed else "no catalog size works, not even the smallest"
    text = f"`helmdeck calibrate` made {calls} calls in {calibrated['seconds']:.0f} s and found that {what}."
    if conclusion := calibrated.get("conclusion"):
        text += f" Its result: *{conclusion}.*"
    sums = found.get("calibrate", {}).get("helped")
    if sums:
        size = "catalogs of that size" if claimed else "catalogs of the smallest size"
        text += f" Of {sums['n']} new requests over {size}, with the proposed row, {sums['right']} plans were right and {sums['valid']} valid."
    return text


def setup_text(found: Report) -> str:
    """What was measured, with what, and how long it took."""
    seconds = [
        f"{label} {found[key]:,.0f} s" for label, key in (("build", "build_s"), ("download", "download_s"), ("measurement", "seconds"))
        if found.get(key)
    ]  # fmt: skip
    row = ", ".join(f"`{key} = {value!r}`" for key, value in found.get("settings", {}).items() if key != "evidence")
    lines = [
        f"- model: {found['model']}; server: {found['server']}",
        f"- Helmdeck's row for the model, from {found.get('settings_from', 'the command line')}: {row or 'none'}",
        f"- time: {'; '.join(seconds)}",
    ]
    if found.get("server_restarts"):
        lines.append(f"- the server ended by itself {found['server_restarts']} times, and was started again")
    lines += [f"- left out: {way}, {reason}" for way, reason in found.get("unavailable", {}).items()]
    return "\n".join(lines)


def models_table(reports: Mapping[str, Report]) -> str:
    """One column for each model: the figures that decide whether a model can be used."""
    wanted = [
        *((task, way, "right") for task in SIZES for way in ("raw", "helped", "ranker")),
        *(("typed", way, "valid") for way in ("raw", "helped")),
        *(("typed", way, "right") for way in ("raw", "helped")),
        *(("plan", way, "right") for way in ("raw", "helped")),
        *(("long", way, "right") for way in ("raw", "helped")),
    ]
    rows = []
    for task, way, key in wanted:
        cells = [found.get(task, {}).get(way) for found in reports.values()]
        shown = [with_interval(sums, key) if sums else "-" for sums in cells]
        rows.append((f"{TASK_TITLES[task]}: {key}, {TITLES[way]}", *shown))
    return _table(("percent, with 95 % intervals", *reports), rows)

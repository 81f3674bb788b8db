"""Diagrams of pipelines: Mermaid text, and SVG without further programs. An arrow leads to a step that waits for another one."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from helmdeck_runs.pipelines.definition import Definition
from helmdeck_runs.pipelines.references import references_of
from helmdeck_runs.pipelines.validation import dependencies

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 190, 46, 60, 18, 12
MAX_LABEL_CHARS = 26

INPUTS, OUTPUTS = "inputs", "outputs"


def mermaid(definition: Definition) -> str:
    """Return a Mermaid flowchart."""
    lines = ["flowchart LR"]
    edges = _edges(definition)
    numbers = {name: f"n{place}" for place, name in enumerate([INPUTS, *_steps(definition), OUTPUTS])}
    for name, (label, detail) in _labels(definition).items():
        text = "<br/>".join(_mermaid_text(part) for part in (label, detail) if part)
        left, right = ("([", "])") if name in (INPUTS, OUTPUTS) else ("[", "]")
        lines.append(f'    {numbers[name]}{left}"{text}"{right}')
    lines += [f"    {numbers[start]} --> {numbers[end]}" for start, end in edges]
    return "\n".join(lines)


def _mermaid_text(text: str) -> str:
    return "".join(f"#{ord(each)};" if each in '"#<>&;`' or ord(each) < 32 else each for each in text)


def svg(definition: Definition) -> str:
    """Return an SVG image; columns are steps that can run side by side."""
    edges = _edges(definition)
    columns = _columns(definition, edges)
    places = {
        name: (MARGIN + x * (WIDTH + GAP_X), MARGIN + y * (HEIGHT + GAP_Y))
        for x, names in enumerate(columns)
        for y, name in enumerate(names)
    }
    width = 2 * MARGIN + len(columns) * (WIDTH + GAP_X) - GAP_X
    height = 2 * MARGIN + max(map(len, columns)) * (HEIGHT + GAP_Y) - GAP_Y
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="12">'
        ),
        f"<title>{escape(definition.id)}</title>",
        (
            '<defs><marker id="arrow" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
            '<path d="M0,0 L7,3 L0,6 z" fill="#555"/></marker></defs>'
        ),
    ]
    for start, end in edges:
        (x1, y1), (x2, y2) = places[start], places[end]
        y1, y2, x1 = y1 + HEIGHT // 2, y2 + HEIGHT // 2, x1 + WIDTH
        middle = (x1 + x2) // 2
        path = f"M{x1},{y1} C{middle},{y1} {middle},{y2} {x2 - 1},{y2}"
        lines.append(f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#arrow)"/>')
    for name, (label, detail) in _labels(definition).items():
        x, y = places[name]
        radius, fill = (HEIGHT // 2, "#eef2f7") if name in (INPUTS, OUTPUTS) else (6, "#ffffff")
        lines.append(
            f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="{radius}" fill="{fill}" stroke="#555"/>'
        )
        text_x = x + WIDTH // 2
        for place, part in enumerate(filter(None, (label, detail))):
            baseline = y + (19 if detail else 27) + 16 * place
            weight = ' font-weight="bold"' if place == 0 else ' fill="#555"'
            shown = escape(part if len(part) <= MAX_LABEL_CHARS else part[: MAX_LABEL_CHARS - 1] + "…")
            lines.append(f'<text x="{text_x}" y="{baseline}" text-anchor="middle"{weight}>{shown}</text>')
    return "\n".join([*lines, "</svg>"])


def _steps(definition: Definition) -> list[str]:
    return [f"step:{step.id}" for step in definition.steps]


def _labels(definition: Definition) -> dict[str, tuple[str, str]]:
    labels = {INPUTS: ("inputs", ", ".join(definition.inputs))}
    labels |= {f"step:{step.id}": (step.name or step.id, step.pack) for step in definition.steps}
    return {**labels, OUTPUTS: ("outputs", ", ".join(definition.outputs))}


def _edges(definition: Definition) -> list[tuple[str, str]]:
    known = set(_steps(definition))
    edges: list[tuple[str, str]] = []
    used: set[str] = set()
    for step_id, needed in dependencies(definition).items():
        starts = [f"step:{name}" for name in needed if f"step:{name}" in known]
        used.update(starts)
        edges += [(start, f"step:{step_id}") for start in starts or [INPUTS]]
    ends = {f"step:{each.name}" for each in references_of(dict(definition.outputs)) if each.root == "steps"}
    last = [name for name in _steps(definition) if name in ends or name not in used]
    return [*edges, *((name, OUTPUTS) for name in last)]


def _columns(definition: Definition, edges: list[tuple[str, str]]) -> list[list[str]]:
    """Names by the length of the longest way to them."""
    depth: dict[str, int] = {INPUTS: 0}
    for name in _steps(definition):  # every step comes after those that it waits for
        depth[name] = 1 + max((depth.get(start, 0) for start, end in edges if end == name), default=0)
    depth[OUTPUTS] = 1 + max(depth.values())
    columns: Mapping[int, list[str]] = {place: [] for place in range(depth[OUTPUTS] + 1)}
    for name, place in depth.items():
        columns[place].append(name)
    return list(columns.values())

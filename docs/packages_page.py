"""The reference page of the packages, and the drawing of their arrows: what each imports besides the core."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]

WIDTH, BOX_HEIGHT, GAP_Y, MARGIN = 960, 46, 58, 16
INK, LINE, FILL, CORE_FILL = "#1c2733", "#5f7d9c", "#e8eef5", "#f3e3e1"


def packages() -> tuple[str, ...]:
    """Return the names of all packages that build on the core, lower ones first."""
    from helmdeck_core.packages import CAPABILITIES, LIBRARIES

    return (*LIBRARIES, *CAPABILITIES)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements within a module or statement; walking the expressions, too, takes five times as long."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(node, field, ()):
            yield each
            yield from statements(each)


@functools.cache
def import_statements(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Return the imports of a file, type-only ones and those in functions included."""
    found = statements(ast.parse(path.read_text(encoding="utf-8")))
    return tuple(node for node in found if isinstance(node, ast.Import | ast.ImportFrom))


def imported_modules(path: Path) -> set[str]:
    """Return the modules that a file imports, type-only imports included."""
    found: set[str] = set()
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module:
            found.add(node.module)
    return found


def arrows() -> dict[str, set[str]]:
    """Return which package imports which others, by the imports of all of its modules."""
    known = packages()
    found: dict[str, set[str]] = {}
    for package in known:
        modules = {name for path in (ROOT / "plugins" / package).rglob("*.py") for name in imported_modules(path)}
        found[package] = {name.partition(".")[0] for name in modules} & set(known) - {package}
    return found


def floors(drawn: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the packages by floor, lowest first: each stands one floor above the highest package that it imports."""
    height: dict[str, int] = {}
    for package in packages():
        height[package] = 1 + max((height[lower] for lower in drawn[package]), default=-1)
    return [[each for each in packages() if height[each] == floor] for floor in range(max(height.values()) + 1)]


def summary(package: str) -> str:
    """Return the first line of a package's docstring."""
    return (importlib.import_module(package).__doc__ or "").partition("\n")[0].strip()


def picture() -> str:
    """Return the drawing as SVG; the core is the ground that all stand on."""
    drawn = arrows()
    rows = floors(drawn)
    height = MARGIN * 2 + (len(rows) + 1) * BOX_HEIGHT + len(rows) * GAP_Y
    boxes = _boxes(rows, height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">',
        f'<path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    lines += [_arrow(boxes[upper], boxes[lower]) for upper in drawn for lower in sorted(drawn[upper])]
    for package, box in boxes.items():
        lines += _box(package.removeprefix("helmdeck_"), box, FILL)
    ground = (MARGIN, height - MARGIN - BOX_HEIGHT, WIDTH - 2 * MARGIN)
    lines += _box(
        "helmdeck_core: hooks, types, configuration, the call machine (every package imports it)", ground, CORE_FILL
    )
    return "\n".join([*lines, "</svg>", ""])


Box = tuple[float, float, float]
"""Left, top and width."""


def _boxes(rows: Sequence[Sequence[str]], height: int) -> dict[str, Box]:
    boxes: dict[str, Box] = {}
    for floor, row in enumerate(rows):
        top = height - MARGIN - (floor + 2) * BOX_HEIGHT - (floor + 1) * GAP_Y
        room = (WIDTH - 2 * MARGIN) / len(row)
        width = min(170.0, room - 20)
        for place, package in enumerate(row):
            boxes[package] = (MARGIN + room * (place + 0.5) - width / 2, top, width)
    return boxes


def _box(label: str, box: Box, fill: str) -> list[str]:
    left, top, width = box
    return [
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{BOX_HEIGHT}" rx="5" fill="{fill}" stroke="{INK}"/>',
        f'<text x="{left + width / 2:.1f}" y="{top + BOX_HEIGHT / 2 + 5:.1f}" text-anchor="middle" fill="{INK}">',
        f"{escape(label)}</text>",
    ]


def _arrow(upper: Box, lower: Box) -> str:
    x1, y1 = upper[0] + upper[2] / 2, upper[1] + BOX_HEIGHT
    x2, y2 = lower[0] + lower[2] / 2, lower[1]
    bend = (y2 - y1) / 2
    # Ends are moved towards the other box, so that arrows of one box do not cover each other.
    x1 += max(-0.4, min(0.4, (x2 - x1) / WIDTH)) * upper[2]
    x2 -= max(-0.4, min(0.4, (x2 - x1) / WIDTH)) * lower[2]
    path = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2 - 2:.1f}"
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.3" marker-end="url(#tip)"/>'


def rows() -> list[Sequence[str]]:
    """Return the rows of the table: package, what it does, what it imports, the plugins that it registers."""
    from helmdeck_core import builtin_plugins

    found: list[Sequence[str]] = []
    for package, lower in arrows().items():
        names = [name for name, target in builtin_plugins().items() if target.startswith(f"{package}.")]
        imports = ", ".join(f"`{name}`" for name in packages() if name in lower)
        plugins = ", ".join(f"`{name}`" for name in names)
        found.append((f"`{package}`", summary(package), imports or "none", plugins or "none"))
    return found

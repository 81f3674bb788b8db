"""A small renderer of SVG pictures: every text is escaped, and the same input gives the same bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape

MEDIA_TYPE = "image/svg+xml"


def clean(text: str) -> str:
    """Return a text without characters that XML does not allow, on one line."""
    # XML 1.0 has no form for other control characters, not even an escaped one.
    return " ".join(re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text).split())


def tag(name: str, *content: str, **attributes: object) -> str:
    """Return an element; ``content`` is markup, attributes are escaped."""
    texts = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(clean(_shown(value)))}"' for key, value in attributes.items()
    )
    return f"<{name}{texts}>{''.join(content)}</{name}>" if content else f"<{name}{texts}/>"


def label(text: str, x: float, y: float, size: float, **attributes: object) -> str:
    """Return a text element."""
    return tag("text", escape(clean(text)), x=x, y=y, font_size=size, **attributes)


def picture(width: int, height: int, description: str, content: Iterable[str]) -> str:
    """Return a whole picture; the description is its alternative text."""
    box = f"0 0 {width} {height}"
    root = tag(
        "svg",
        tag("title", escape(clean(description))),
        "\n",
        "\n".join(content),
        "\n",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=box,
        width=width,
        height=height,
        role="img",
        font_family="system-ui, sans-serif",
    )
    return f"{root}\n"


def wrapped(text: str, chars: int, lines: int) -> list[str]:
    """Return a text in lines of a width in characters; the last line of a longer text ends with an ellipsis."""
    found: list[str] = [""]
    for word in clean(text).split():
        for piece in (word[at : at + chars] for at in range(0, len(word), chars)):
            if found[-1] and len(found[-1]) + 1 + len(piece) > chars:
                found.append("")
            found[-1] = f"{found[-1]} {piece}".strip()
    if len(found) > lines:
        found = [*found[: lines - 1], found[lines - 1][: chars - 1].rstrip() + "…"]
    return found


def ticks(low: float, high: float, count: int = 5) -> Sequence[float]:
    """Return round numbers that span a range."""
    span = (high - low) or abs(high) or 1.0
    step = 10 ** math.floor(math.log10(span / count))
    step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= count)
    first = math.floor(low / step)
    last = math.ceil(high / step)
    return [round(number * step, 10) for number in range(first, max(last, first + 1) + 1)]


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

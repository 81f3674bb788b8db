"""The templates of the console, and how figures look in them."""

from __future__ import annotations

import datetime
import functools
import json
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup, escape

FOLDER: Final = Path(__file__).resolve().parents[1]
MAX_SHOWN: Final = 4_000
"""Characters of a string that a page shows; names and texts come from models and clients, and may have any length."""

MAX_WHOLE: Final = 400_000
"""Characters of a prompt that a page shows."""

BIDI: Final = dict.fromkeys(
    (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C), "\N{REPLACEMENT CHARACTER}"
)
"""Characters that change the direction of what follows them; shown, they could make a name read as another one."""


@functools.cache
def environment() -> jinja2.Environment:
    """Return the environment of the templates; every value is escaped."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.ChainableUndefined,
        finalize=shown,
    )
    found.filters.update(
        num=number,
        usd=usd,
        ms=duration,
        share=share,
        size=size,
        at=moment,
        json=as_json,
        short=short,
        whole=whole,
        field=escape,
    )
    return found


def shown(value: Any) -> Any:
    """Return a value as a page shows it: no value is nothing, and a string cannot change what is around it.

    The values of form fields use the filter ``field`` instead, as the form sends them back.
    """
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        text = value if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]}… ({len(value):,} characters)"
        return text.translate(BIDI)
    return value


def _figure(value: Any) -> float | None:
    """A value as a number; ``None`` for anything else, since the events of plugins may hold anything."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def number(value: Any) -> str:
    """Return a number with separators of thousands; ``–`` for none."""
    figure = _figure(value)
    return "–" if figure is None else f"{figure:,.0f}"


def usd(value: Any) -> str:
    """Return US dollars; small amounts have more digits."""
    if (value := _figure(value)) is None:
        return "–"
    if value == 0:
        return "$0"
    if value < 1e-6:
        return "<$0.000001"
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}" if value >= 0.0001 else f"${value:.6f}"


def duration(value: Any) -> str:
    """Return a duration in milliseconds as text."""
    if (value := _figure(value)) is None:
        return "–"
    if value < 999.5:
        return f"{value:.0f} ms"
    for least_ms, size_ms, unit in ((7_200_000, 3_600_000, "h"), (120_000, 60_000, "min")):
        if value >= least_ms:
            return f"{value / size_ms:,.1f} {unit}"
    return f"{value / 1_000:.1f} s"


def share(value: Any) -> str:
    """Return a share as a percentage; only a complete one is 100 %, and only none is 0 %."""
    if (value := _figure(value)) is None:
        return "–"
    text = f"{value * 100:.1f}"
    if text == "0.0" and value > 0:
        return "<0.1 %"
    return "99.9 %" if text == "100.0" and value < 1 else f"{text.removesuffix('.0')} %"


def size(value: Any) -> str:
    """Return a number of bytes."""
    if (value := _figure(value)) is None:
        return "no limit"
    return f"{value:,} B" if value < 10_000 else f"{value / 1024:,.1f} KB"


def moment(value_us: int | None) -> Markup:
    """Return a time in UTC, which the script of the page turns into the reader's zone."""
    if value_us is None:
        return Markup("–")
    try:
        when = datetime.datetime.fromtimestamp(value_us / 1e6, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return Markup("–")
    iso = when.isoformat(timespec="milliseconds")
    return Markup('<time datetime="{}" title="{}" data-form="moment">{} UTC</time>').format(
        iso, iso, when.strftime("%Y-%m-%d %H:%M:%S")
    )


def as_json(value: Any) -> Markup:
    """Return plain data as indented JSON."""
    return whole(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def short(value: Any, length: int = 60) -> str:
    """Return a string that fits into a cell."""
    value = str(value)
    return value if len(value) <= length else f"{value[: length - 1]}…"


def whole(value: str) -> Markup:
    """Return a long text without the limit of other strings, up to ``MAX_WHOLE`` characters."""
    cut = value if len(value) <= MAX_WHOLE else f"{value[:MAX_WHOLE]}… ({len(value):,} characters)"
    return escape(cut.translate(BIDI))

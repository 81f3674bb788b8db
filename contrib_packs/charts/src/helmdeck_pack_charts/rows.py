"""Reads rows as the axes and series of a chart."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

MAX_ROWS: Final = 5_000
MAX_SERIES: Final = 8

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_UNIT = re.compile(r"[(\[]([^()\[\]]{1,20})[)\]]\s*$")
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


class RowsError(ValueError):
    """Rows that cannot be drawn; the message names the reason."""


@attrs.frozen
class Data:
    """The data of a chart.

    :ivar labels: of the x axis, one for each row.
    :ivar numbers: of the x axis; ``None`` if a label is not a number.
    :ivar series: names and values; a missing value is NaN.
    """

    x_heading: str
    labels: tuple[str, ...]
    numbers: tuple[float, ...] | None
    series: tuple[tuple[str, tuple[float, ...]], ...]

    @property
    def y_heading(self) -> str:
        """The heading of the only series, or the unit that all series have, such as ``m`` of ``Spring (m)``."""
        if len(self.series) == 1:
            return self.series[0][0]
        units = {found[1] if (found := _UNIT.search(name)) else "" for name, _ in self.series}
        return units.pop() if len(units) == 1 else ""


def read_rows(rows: Sequence[Any]) -> Data:
    """Read objects, or lists of which the first one holds the headings.

    The first column is the x axis, and every other column of numbers a series. Numbers may be strings, as in a CSV file.

    :raises RowsError: there is no column of numbers, or a limit is exceeded.
    """
    if len(rows) > MAX_ROWS:
        raise RowsError(f"{len(rows):,} rows; at most {MAX_ROWS:,} are drawn")
    if rows and all(isinstance(row, Mapping) for row in rows):
        keys = list(dict.fromkeys(key for row in rows for key in row))
        headings, records = [text_of(key) for key in keys], [[row.get(key) for key in keys] for row in rows]
    elif len(rows) > 1 and all(isinstance(row, list) and row for row in rows):
        width = max(map(len, rows))
        table = [[*row, *[None] * (width - len(row))] for row in rows]
        headings, records = [text_of(cell) for cell in table[0]], table[1:]
    else:
        raise RowsError("neither a list of objects nor a list of lists with headings first")
    columns = [[record[place] for record in records] for place in range(len(headings))]
    series = [
        (heading or f"Column {place}", tuple(map(_value, column)))
        for place, (heading, column) in enumerate(zip(headings, columns, strict=True), 1)
        if (place > 1 or len(columns) == 1) and _is_numeric(column)
    ]
    if not series:
        raise RowsError("no column after the first one has numbers only")
    if len(series) > MAX_SERIES:
        raise RowsError(f"{len(series)} columns of numbers; at most {MAX_SERIES} are drawn")
    is_single = len(columns) == 1
    first: list[Any] = list(range(1, len(records) + 1)) if is_single else columns[0]
    numbers = tuple(map(_value, first))
    is_numeric = not any(map(math.isnan, numbers))
    labels = tuple(map(text_of, first))
    return Data("" if is_single else headings[0], labels, numbers if is_numeric else None, tuple(series))


def text_of(value: Any) -> str:
    """Return a value on one line, without control characters."""
    return " ".join(_INVISIBLE.sub(" ", "" if value is None else str(value)).split())


def _is_numeric(column: Sequence[Any]) -> bool:
    filled = [value for value in column if value not in (None, "")]
    return bool(filled) and not any(math.isnan(_value(value)) for value in filled)


def _value(value: Any) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        # matplotlib cannot place ticks near the largest floating-point number.
        return float(value) if abs(value) < 1e200 else math.nan
    except OverflowError:
        return math.nan

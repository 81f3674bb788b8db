"""Rows as tables and as series of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from helmdeck_pack_slides.text_fit import clean

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


class RowsError(ValueError):
    """Rows that do not form a table, or have no numbers."""


@attrs.frozen
class Table:
    """A table: headings, and records of the same length; a missing value is ``None``."""

    headings: tuple[str, ...]
    records: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, rows: Sequence[Any]) -> Table:
        """Read objects, or lists of which the first one holds the headings.

        :raises RowsError: the rows are neither.
        """
        if rows and all(isinstance(row, Mapping) for row in rows):
            keys = list(dict.fromkeys(key for row in rows for key in row))
            return cls(tuple(map(str, keys)), tuple(tuple(row.get(key) for key in keys) for row in rows))
        if rows and all(isinstance(row, (list, tuple)) for row in rows):
            width = max(map(len, rows))
            if width:
                padded = [(*row, *[None] * (width - len(row))) for row in rows]
                return cls(tuple(map(shown, padded[0])), tuple(padded[1:]))
        raise RowsError("neither a list of objects nor a list of lists with headings first")


@attrs.frozen
class ChartData:
    """Labels or numbers of the x axis, and the series."""

    x_heading: str
    x: tuple[Any, ...]
    series: tuple[tuple[str, tuple[float | None, ...]], ...]


def chart_data(rows: Sequence[Any], max_points: int, max_series: int) -> ChartData:
    """Read the data of a chart: the first column is the x axis, every other column of numbers a series.

    :raises RowsError: no column has numbers, or a limit is exceeded.
    """
    table = Table.of(rows)
    if len(table.records) > max_points:
        raise RowsError(f"{len(table.records):,} rows; at most {max_points:,} are drawn")
    count = len(table.headings)
    columns = [tuple(number(record[place]) for record in table.records) for place in range(count)]
    first = 1 if count > 1 else 0
    series = []
    for place in range(first, count):
        values = [value for value in (record[place] for record in table.records) if value not in (None, "")]
        # One cell such as "n/a" makes a column of texts, not a gap.
        if values and all(number(value) is not None for value in values):
            series.append((table.headings[place], columns[place]))
    if not series:
        raise RowsError("no column has numbers only")
    if len(series) > max_series:
        raise RowsError(f"{len(series)} columns of numbers; at most {max_series} are drawn")
    labels = tuple(record[0] for record in table.records) if first else tuple(range(1, len(table.records) + 1))
    return ChartData(table.headings[0] if first else "", labels, tuple(series))


def number(value: Any) -> float | None:
    """Return a number, also one in a string such as ``-1.5``; ``None`` for anything else."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def shown(value: Any) -> str:
    """Return the text of a cell."""
    return "" if value is None else clean(str(value))

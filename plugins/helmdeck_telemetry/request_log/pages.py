"""Pages of the request log: filters, and a position in the log instead of a page number, so that new rows move nothing."""

# ruff: noqa: S608  # statements consist of constants; all values are parameters

from __future__ import annotations

from typing import Any, Final

import attrs

from helmdeck_storage import Session
from helmdeck_telemetry.request_log.facts import COLUMNS, RequestFacts, clean

MAX_EXAMINED: Final = 10_000
"""Rows that one page examines. A filter that matches fewer rows continues from there on the next page, so that no page takes long."""

Position = tuple[int, str]
"""A place in the log: the end of a call in microseconds, and its id."""

NEWEST: Final[Position] = (2**62, "")
"""The position before the newest request."""

_INDEXED: Final = ("key", "model", "variant", "pack", "outcome", "team")
"""Columns with an index by time, the most selective ones first."""

_LIST: Final = ", ".join(f"r.{name}" for name in COLUMNS)


@attrs.frozen(kw_only=True)
class Filters:
    """Which requests to show, by all conditions together; empty strings and ``None`` match all.

    Strings are changed as those of requests are when they are recorded, so that databases accept them.

    :ivar team: the only team whose requests are visible.
    :ivar cause: the cause of one of the failed attempts, also of a request that was answered in the end.
    :ivar call_id: the first characters of the id.
    :ivar since_us: earliest end in microseconds since 1970 UTC.
    :ivar until_us: latest end.
    """

    team: str = attrs.field(default="", converter=clean)
    model: str = attrs.field(default="", converter=clean)
    key: str = attrs.field(default="", converter=clean)
    cause: str = attrs.field(default="", converter=clean)
    outcome: str = attrs.field(default="", converter=clean)
    variant: str = attrs.field(default="", converter=clean)
    pack: str = attrs.field(default="", converter=clean)
    call_id: str = attrs.field(default="", converter=clean)
    since_us: int | None = None
    until_us: int | None = None


@attrs.frozen(kw_only=True)
class RequestPage:
    """A page of requests, newest first.

    :ivar next: where the next page begins; ``None`` for the last one.
    :ivar is_partial: the page ended because enough rows were examined, not because it is full.
    """

    rows: tuple[RequestFacts, ...]
    next: Position | None = None
    is_partial: bool = False


def read_page(session: Session, filters: Filters, after: Position = NEWEST, size: int = 50) -> RequestPage:
    """Return the requests before a position."""
    after = after[0], clean(after[1])
    if filters.call_id:
        return _by_id(session, filters, after, size)
    driver = "cause" if filters.cause else next((each for each in _INDEXED if getattr(filters, each)), "")
    others = [each for each in _INDEXED if getattr(filters, each) and each != driver]
    # Without other conditions, the index gives the page itself.
    limit = MAX_EXAMINED if others else size + 1
    source, parameters = _source(filters, driver, after)
    condition = " AND ".join(f"r.{each} = ?" for each in others) or "TRUE"
    if driver == "cause":
        examined = f"(SELECT ended_us, call_id {source} LIMIT ?) AS e JOIN requests r ON r.call_id = e.call_id"
    else:
        examined = f"(SELECT * {source} LIMIT ?) AS r"
    rows = session.rows(
        f"SELECT {_LIST} FROM {examined} WHERE {condition} ORDER BY r.ended_us DESC, r.call_id DESC LIMIT ?",
        (*parameters, limit, *(getattr(filters, each) for each in others), size + 1),
    )
    found = tuple(RequestFacts(**dict(zip(COLUMNS, row, strict=True))) for row in rows)
    if len(found) > size:
        return RequestPage(rows=found[:size], next=(found[size - 1].ended_us, found[size - 1].call_id))
    if not others:
        return RequestPage(rows=found)
    # The last examined row, if there are as many; the index gives it without reading any request.
    last = session.row(f"SELECT ended_us, call_id {source} LIMIT 1 OFFSET ?", (*parameters, MAX_EXAMINED - 1))
    return RequestPage(rows=found, next=(int(last[0]), str(last[1])) if last else None, is_partial=last is not None)


def _source(filters: Filters, driver: str, after: Position) -> tuple[str, list[Any]]:
    """The rows that the most selective index gives, from a position on, newest first."""
    table = "request_causes" if driver == "cause" else "requests"
    if filters.until_us is not None:  # one upper bound: with two, SQLite starts at the wrong one
        after = min(after, (filters.until_us + 1, ""))
    conditions, parameters = ["(ended_us, call_id) < (?, ?)"], [*after]
    if driver:
        conditions.insert(0, f"{driver} = ?")
        parameters.insert(0, getattr(filters, driver))
    if filters.since_us is not None:
        conditions.append("ended_us >= ?")
        parameters.append(filters.since_us)
    return f"FROM {table} WHERE {' AND '.join(conditions)} ORDER BY ended_us DESC, call_id DESC", parameters


def _by_id(session: Session, filters: Filters, after: Position, size: int) -> RequestPage:
    """The requests whose id begins as the filter does: pages in the order of ids, each of them newest first."""
    prefix = filters.call_id
    visible = "team = ?" if filters.team else "TRUE"
    source = f"FROM requests WHERE call_id >= ? AND call_id < ? AND call_id > ? AND {visible} ORDER BY call_id"
    parameters = prefix, f"{prefix}\U0010ffff", after[1], *([filters.team] if filters.team else [])
    names = [each for each in _INDEXED if getattr(filters, each) and each != "team"]
    conditions = [f"r.{each} = ?" for each in names]
    values: list[Any] = [getattr(filters, each) for each in names]
    for condition, value in (
        ("r.ended_us >= ?", filters.since_us),
        ("r.ended_us <= ?", filters.until_us),
        ("EXISTS (SELECT 1 FROM request_causes c WHERE c.ended_us = r.ended_us AND c.call_id = r.call_id AND c.cause = ?)",
         filters.cause or None),
    ):  # fmt: skip
        if value is not None:
            conditions.append(condition)
            values.append(value)
    rows = session.rows(
        f"SELECT {_LIST} FROM (SELECT call_id {source} LIMIT ?) x JOIN requests r ON r.call_id = x.call_id "
        f"WHERE {' AND '.join(conditions) or 'TRUE'} ORDER BY r.call_id LIMIT ?",
        (*parameters, MAX_EXAMINED, *values, size + 1),
    )
    found = [RequestFacts(**dict(zip(COLUMNS, row, strict=True))) for row in rows]
    shown = tuple(sorted(found[:size], key=lambda each: -each.ended_us))
    if len(found) > size:
        return RequestPage(rows=shown, next=(found[size - 1].ended_us, found[size - 1].call_id))
    last = session.row(f"SELECT ended_us, call_id {source} LIMIT 1 OFFSET ?", (*parameters, MAX_EXAMINED - 1))
    return RequestPage(rows=shown, next=(int(last[0]), str(last[1])) if last else None, is_partial=last is not None)


@attrs.frozen
class FilterValues:
    """The values that a filter can have.

    :ivar is_partial: there are more than are read; they can be filtered by as well.
    """

    values: tuple[str, ...]
    is_partial: bool = False


def values_of(session: Session, column: str, team: str, most: int = 200) -> FilterValues:
    """Return the first values of a filter, by skipping from one to the next in its index."""
    if column not in ("cause", *_INDEXED):
        raise ValueError(f"{column!r} is no filter")
    table = "request_causes" if column == "cause" else "requests"
    found: list[str] = []
    last = ""
    while len(found) <= most:
        row = session.row(f"SELECT {column} FROM {table} WHERE {column} > ? ORDER BY {column} LIMIT 1", (last,))
        if row is None:
            break
        last = str(row[0])
        found.append(last)
    is_partial = len(found) > most
    if team:
        seen = "SELECT 1 FROM {} WHERE {} = ? AND team = ? LIMIT 1".format(table, column)  # noqa: UP032
        found = [each for each in found[:most] if session.row(seen, (each, team)) is not None]
    return FilterValues(tuple(found[:most]), is_partial)

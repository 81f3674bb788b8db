"""The screen *Requests*: a table with filters, its data as CSV and JSON, and one request with its attempts."""

from __future__ import annotations

import csv
import datetime
import io
import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

import attrs
from starlette.responses import Response, StreamingResponse

from helmdeck_console.screens.attempts import attempts_of, bars_of, notes_of
from helmdeck_console.web.access import Refused
from helmdeck_console.web.charts import timeline
from helmdeck_console.web.page_request import PageRequest
from helmdeck_telemetry import NEWEST, Filters, FilterValues, RequestFacts, RequestLog

SIZE: Final = 50
MAX_EXPORTED: Final = 100_000
"""Requests of an export."""

SINCE_S: Final[Mapping[str, int]] = {"hour": 3_600, "day": 86_400, "week": 604_800, "month": 2_592_000}
_SECONDS: Final = 19
"""Characters of a time up to its seconds."""
FILTERS: Final = ("model", "key", "cause", "outcome", "variant", "pack")


def filters_of(page: PageRequest) -> Filters:
    """Return the filters of the URL, within the team of the reader."""
    since = page.query("since")
    if since and since not in SINCE_S:
        raise Refused(f"{since[:40]!r} is not a period; the periods are {', '.join(SINCE_S)}.", 422)
    start_us = int((time.time() - SINCE_S[since]) * 1e6) if since else None
    earliest, latest = (_microseconds(_time(page.query(name))) for name in ("from", "to"))
    return Filters(
        team=page.team,
        call_id=page.query("id").strip(),
        since_us=max((each for each in (start_us, earliest) if each is not None), default=None),
        until_us=latest,
        **{name: page.query(name) for name in FILTERS},
    )


def _time(text: str) -> datetime.datetime | None:
    """A time in UTC such as 2026-11-24T09:30; ``None`` without one."""
    if not text:
        return None
    try:
        when = datetime.datetime.fromisoformat(text)
        return when.astimezone(datetime.UTC) if when.tzinfo else when.replace(tzinfo=datetime.UTC)
    except (ValueError, OverflowError):
        raise Refused(f"{text[:40]!r} is no time such as 2026-11-24T09:30", 422) from None


def _microseconds(when: datetime.datetime | None) -> int | None:
    return None if when is None else int(when.timestamp() * 1e6)


def _field(text: str) -> str:
    """The value of a field of the form, which accepts one way to write a time."""
    return "" if (when := _time(text)) is None else when.isoformat()[:_SECONDS].removesuffix(":00")


def _log(page: PageRequest) -> RequestLog:
    log = page.sources.log
    if log is None:
        raise Refused("No request is recorded; see the screen Now.", 404)
    return log


async def show(page: PageRequest) -> Response:
    """Show a page of the table."""
    return await page.read(_shown, page)


def _shown(page: PageRequest) -> Response:
    log = page.sources.log
    if log is None:
        return page.shown("empty.html", title="Requests")
    filters = filters_of(page)
    ended, _, call_id = page.query("after").partition("-")
    after = (int(ended), call_id) if ended.isdecimal() and len(ended) < 19 else NEWEST
    found, values = log.page(filters, after, SIZE), {name: log.values(name, page.team) for name in FILTERS}
    return page.shown(
        "requests.html",
        page=found,
        filters=filters,
        since=page.query("since"),
        since_names=tuple(SINCE_S),
        start=_field(page.query("from")),
        end=_field(page.query("to")),
        next=f"{found.next[0]}-{found.next[1]}" if found.next else "",
        is_first=after == NEWEST,
        is_filtered=any(
            (*(getattr(filters, each) for each in FILTERS), filters.call_id, filters.since_us, filters.until_us)
        ),
        choices={name: _choices(found, getattr(filters, name)) for name, found in values.items()},
        partial=[name for name, found in values.items() if found.is_partial],
        size=SIZE,
    )


def _choices(found: FilterValues, chosen: str) -> Sequence[str]:
    return found.values if not chosen or chosen in found.values else (chosen, *found.values)


async def show_csv(page: PageRequest) -> Response:
    """Return the filtered requests as CSV."""
    rows = await page.read(_rows, page)
    return _download(_csv(rows), "text/csv; charset=utf-8", "requests.csv")


async def show_json(page: PageRequest) -> Response:
    """Return the filtered requests as JSON."""
    rows = await page.read(_rows, page)
    return _download(_json(rows), "application/json", "requests.json")


def _rows(page: PageRequest) -> Iterator[RequestFacts]:
    """The rows of an export; the first is read before the response begins, which a broken database still can change."""
    rows = _log(page).export(filters_of(page), MAX_EXPORTED)
    first = tuple(itertools.islice(rows, 1))
    return itertools.chain(first, rows)


def _download(parts: Iterator[str], kind: str, name: str) -> Response:
    return StreamingResponse(
        parts, media_type=kind, headers={"content-disposition": f'attachment; filename="helmdeck-{name}"'}
    )


def _csv(rows: Iterator[RequestFacts]) -> Iterator[str]:
    names = [each.name for each in attrs.fields(RequestFacts)]
    yield _line(names)
    for row in rows:
        yield _line([_cell(getattr(row, name)) for name in names])


def _line(cells: Sequence[object]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()


def _cell(value: object) -> object:
    """A value that a spreadsheet does not execute as a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value


def _json(rows: Iterator[RequestFacts]) -> Iterator[str]:
    separator = "[\n"
    for row in rows:
        yield separator + json.dumps(attrs.asdict(row))
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


async def show_one(page: PageRequest) -> Response:
    """Show one request with its attempts."""
    return await page.read(_shown_one, page)


def _shown_one(page: PageRequest) -> Response:
    log = _log(page)
    call_id = str(page.request.path_params["call_id"])
    found = log.find(call_id, page.team)
    if found is None:
        raise Refused(
            f"There is no request {call_id[:100]!r}. It may have been deleted after the days that requests are kept.",
            404,
        )
    facts, trace = found
    attempts = attempts_of(trace) if trace is not None else ()
    bars = bars_of(attempts)
    return page.shown(
        "request.html",
        facts=facts,
        trace=trace,
        attempts=attempts,
        notes=notes_of(trace) if trace is not None else (),
        timeline=timeline(bars, facts.latency_ms / 1000, "Attempts over time") if bars else None,
        helpers=log.helpers(facts.call_id) if not page.team else (),
        command=f"helmdeck explain --run {quote(facts.call_id)}",
        quote=quote,
        texts={each.attempt: each for each in log.texts(facts.call_id)} if page.visitor.is_admin else {},
        records_texts=getattr(page.sources.deck.sink("requests"), "records_texts", False),
    )

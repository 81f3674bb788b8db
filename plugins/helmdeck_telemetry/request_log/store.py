"""The request log in SQLite or PostgreSQL."""

# ruff: noqa: S608  # statements consist of constants; all values are parameters

from __future__ import annotations

import json
import operator
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from helmdeck_core import CallTrace, CooldownStarted, data_directory
from helmdeck_storage import DAY_S, Database, Session, SqliteDatabase, open_database
from helmdeck_telemetry.request_log import pages, rollups, texts
from helmdeck_telemetry.request_log.facts import COLUMNS, RequestFacts, clean, facts_of
from helmdeck_telemetry.request_log.pages import NEWEST, Filters, FilterValues, Position, RequestPage
from helmdeck_telemetry.request_log.rollups import Figures, ModelFigures
from helmdeck_telemetry.request_log.schema import ALL_TEAMS, schema_for
from helmdeck_telemetry.request_log.spending import ModelSpend, read_spending
from helmdeck_telemetry.request_log.texts import RecordedTexts
from helmdeck_telemetry.traces import read_trace, trace_text

_ADD: Final = f"INSERT INTO requests ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))}) ON CONFLICT (call_id) DO NOTHING"
_ADD_CAUSE: Final = "INSERT INTO request_causes VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_ADD_TRACE: Final = "INSERT INTO request_traces VALUES (?, ?, ?, ?) ON CONFLICT (call_id) DO NOTHING"
_ADD_COOLDOWN: Final = (
    "INSERT INTO cooldowns VALUES (?, ?, ?, ?, ?) ON CONFLICT (provider, model, route) DO UPDATE SET "
    "cause = excluded.cause, until_us = excluded.until_us"
)
DELETED_AT_ONCE: Final = 5_000
"""Expired rows that one deletion removes."""
MOST_PARAMETERS: Final = 500
"""Parameters of one statement; SQLite has a limit."""
_row: Final = operator.attrgetter(*COLUMNS)
"""The columns of the facts of a request; ``attrs.astuple`` takes much longer."""


@attrs.frozen(kw_only=True)
class Cooldown:
    """A model, or a key or server of a provider, that is called last until a time.

    :ivar until_us: in microseconds since 1970 UTC; a success ends it earlier.
    """

    provider: str
    model: str
    route: str
    cause: str
    until_us: int


@attrs.frozen(kw_only=True)
class OperatorAction:
    """An entry of the audit log.

    :ivar actor: the name of the operator's key.
    :ivar action: such as ``key created``.
    :ivar subject: such as the name of the key.
    """

    time_us: int
    actor: str
    action: str
    subject: str
    detail: str = ""
    team: str = ""


class RequestLog:
    """Recorded requests with their roll-ups and traces. Thread-safe.

    :param database: opened with the tables of ``schema_for``.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._lock = threading.Lock()

    @classmethod
    def open(cls, url: str = "") -> RequestLog:
        """Return the log of a URL, which connects at its first use.

        :param url: ``sqlite:PATH``, ``postgresql://...``, ``memory:``, or empty for ``requests.db`` in the data directory.
        :raises StorageError: the driver is not installed.
        """
        if url == "memory:":
            return cls(SqliteDatabase(None, schema_for("sqlite:")))
        url = url or "sqlite:"
        return cls(open_database(url, schema_for(url), default_file=default_log_path()))

    def close(self) -> None:
        """Close all connections; idempotent."""
        self.database.close()

    # -- writing -----------------------------------------------------------------------------------------------

    def add(self, traces: Sequence[CallTrace]) -> None:
        """Add finished calls in one transaction; a call that is recorded already is left out.

        :raises StorageError: the database cannot be used.
        """
        finished = {
            facts.call_id: (trace, facts, attempts) for trace in traces for facts, attempts in [facts_of(trace)]
        }
        stored = {call_id: trace_text(trace) for call_id, (trace, _, _) in finished.items()}
        with self.database.session() as session:
            for (known,) in _known(session, tuple(finished)):
                del finished[known]
            new = tuple(finished.values())
            session.many(
                _ADD_TRACE,
                [
                    (facts.call_id, facts.ended_us, clean(trace.parent, 100), stored[facts.call_id])
                    for trace, facts, _ in new
                ],
            )
            calls = [each for each in new if not each[0].parent]
            session.many(_ADD, [_row(facts) for _, facts, _ in calls])
            causes = {
                (attempt.cause, facts.ended_us, facts.call_id, facts.team)
                for _, facts, attempts in calls
                for attempt in attempts
                if attempt.cause
            }
            session.many(_ADD_CAUSE, sorted(causes))
            rollups.add(session, [(facts, attempts, bool(trace.parent)) for trace, facts, attempts in new])

    def add_texts(self, recorded: Sequence[RecordedTexts]) -> None:
        """Add the texts of attempts."""
        with self.database.session() as session:
            texts.add(session, recorded)

    def add_cooldown(self, event: CooldownStarted, now_s: float | None = None) -> None:
        """Record a cooldown."""
        until_us = int(((time.time() if now_s is None else now_s) + event.seconds) * 1e6)
        row = (clean(event.provider), clean(event.model), clean(event.route), event.cause.value, until_us)
        with self.database.session() as session:
            session.change(_ADD_COOLDOWN, row)

    def add_action(self, action: OperatorAction) -> None:
        """Add an entry to the audit log."""
        row = (secrets.token_hex(8), action.time_us, clean(action.actor), action.team, clean(action.action))
        with self.database.session() as session:
            session.change(
                "INSERT INTO operator_actions VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*row, clean(action.subject), clean(action.detail, 1_000)),
            )

    def save_try(self, data: Mapping[str, Any], team: str = "", try_id: str = "") -> str:
        """Store a request of an operator with its result, in place of an earlier one; return its id."""
        try_id = try_id or secrets.token_urlsafe(12)
        with self.database.session() as session:
            session.change("DELETE FROM saved_tries WHERE id = ?", (try_id,))
            session.change(
                "INSERT INTO saved_tries VALUES (?, ?, ?, ?)",
                (try_id, int(time.time() * 1e6), team, json.dumps(dict(data))),
            )
        return try_id

    def purge(self, keep_days: float, keep_traces: int, now_s: float | None = None) -> None:
        """Delete what is older than ``keep_days``, and all traces but the newest ``keep_traces`` with their texts."""
        now = time.time() if now_s is None else now_s
        oldest_us = int((now - keep_days * DAY_S) * 1e6)
        with self.database.session() as session:
            cut = session.row(
                "SELECT ended_us FROM request_traces ORDER BY ended_us DESC LIMIT 1 OFFSET ?",
                (max(0, keep_traces - 1),),
            )
            bound = max(oldest_us, int(cut[0]) if cut is not None else oldest_us)
            for table, key, limit in (
                ("request_traces", "call_id", bound),
                ("request_texts", "call_id", bound),
                ("requests", "call_id", oldest_us),
            ):
                session.change(
                    f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE ended_us < ? "
                    "ORDER BY ended_us LIMIT ?)",
                    (limit, DELETED_AT_ONCE),
                )
            session.change("DELETE FROM request_causes WHERE ended_us < ?", (oldest_us,))
            for table in ("rollup_requests", "rollup_latencies", "rollup_attempts"):
                for span_s, days in ((60, min(2, keep_days)), (900, min(8, keep_days)), (3_600, keep_days)):
                    session.change(
                        f"DELETE FROM {table} WHERE span_s = ? AND start_s < ?", (span_s, int(now - days * DAY_S))
                    )
            for table in ("operator_actions", "saved_tries"):
                session.change(f"DELETE FROM {table} WHERE time_us < ?", (oldest_us,))

    # -- reading -----------------------------------------------------------------------------------------------

    def page(self, filters: Filters, after: Position = NEWEST, size: int = 50) -> RequestPage:
        """Return the requests before a position, newest first."""
        with self.database.session(writes=False) as session:
            return pages.read_page(session, filters, after, size)

    def export(self, filters: Filters, most: int) -> Iterator[RequestFacts]:
        """Yield the newest requests that match."""
        position: Position | None = NEWEST
        while position is not None and most > 0:  # one session per page, so that a slow reader holds none
            page = self.page(filters, position, min(most, 1_000))
            yield from page.rows
            most -= len(page.rows)
            position = page.next

    def values(self, column: str, team: str = "") -> FilterValues:
        """Return the values that a filter can have; those of a team are looked for among the first ones of all teams."""
        with self.database.session(writes=False) as session:
            return pages.values_of(session, column, team)

    def find(self, call_id: str, team: str = "") -> tuple[RequestFacts, CallTrace | None] | None:
        """Return a request with its trace, if that is still stored; ``None`` if there is none."""
        with self.database.session(writes=False) as session:
            row = session.row(f"SELECT {', '.join(COLUMNS)} FROM requests WHERE call_id = ?", (clean(call_id, 100),))
            stored = session.row("SELECT trace FROM request_traces WHERE call_id = ?", (clean(call_id, 100),))
        trace = None if stored is None else read_trace(stored[0])
        if row is None and trace is not None and trace.parent and not team:
            return facts_of(trace)[0], trace
        if row is None:
            return None
        facts = RequestFacts(**dict(zip(COLUMNS, row, strict=True)))
        return (facts, trace) if not team or facts.team == team else None

    def texts(self, call_id: str) -> tuple[RecordedTexts, ...]:
        """Return the texts of the attempts of a call in order; empty where none are recorded."""
        with self.database.session(writes=False) as session:
            return texts.of_call(session, call_id)

    def helpers(self, call_id: str) -> Sequence[CallTrace]:
        """Return the traces of the helper calls of a call, such as a filter call."""
        with self.database.session(writes=False) as session:
            rows = session.rows(
                "SELECT trace FROM request_traces WHERE parent = ? AND parent <> '' ORDER BY ended_us LIMIT 20",
                (clean(call_id, 100),),
            )
        return [read_trace(text) for (text,) in rows]

    def newest_traces(self, limit: int) -> tuple[CallTrace, ...]:
        """Return the newest traces, without those of helper calls."""
        with self.database.session(writes=False) as session:
            rows = session.rows(
                "SELECT trace FROM request_traces WHERE parent = '' ORDER BY ended_us DESC LIMIT ?", (limit,)
            )
        return tuple(read_trace(text) for (text,) in rows)

    def trace(self, call_id: str) -> CallTrace | None:
        """Return the trace of a call; ``None`` if it is not stored."""
        with self.database.session(writes=False) as session:
            row = session.row("SELECT trace FROM request_traces WHERE call_id = ?", (clean(call_id, 100),))
        return None if row is None else read_trace(row[0])

    def figures(self, span_s: int, since_s: float, team: str = "") -> Figures:
        """Return the sums since a time."""
        with self.database.session(writes=False) as session:
            return rollups.figures(session, team or ALL_TEAMS, span_s, int(since_s))

    def attempts_by_cause(self, span_s: int, since_s: float, team: str = "") -> Mapping[tuple[int, str], int]:
        """Return the number of attempts by start of the span and cause; the cause of a usable one is empty."""
        with self.database.session(writes=False) as session:
            return rollups.attempts_by_cause(session, team or ALL_TEAMS, span_s, int(since_s))

    def by_model(self, span_s: int, since_s: float, team: str = "") -> tuple[ModelFigures, ...]:
        """Return the attempts of each model, the most used one first."""
        with self.database.session(writes=False) as session:
            return rollups.by_model(session, team or ALL_TEAMS, span_s, int(since_s))

    def spending(self, since_us: int, until_us: int) -> tuple[ModelSpend, ...]:
        """Return what the calls that began in a time cost, by team, key and model."""
        with self.database.session(writes=False) as session:
            return read_spending(session, since_us, until_us)

    def cooldowns(self, now_s: float | None = None) -> Sequence[Cooldown]:
        """Return the cooldowns that have not ended, the longest first."""
        now_us = int((time.time() if now_s is None else now_s) * 1e6)
        with self.database.session(writes=False) as session:
            rows = session.rows(
                "SELECT provider, model, route, cause, until_us FROM cooldowns WHERE until_us > ? ORDER BY until_us DESC",
                (now_us,),
            )
        return [Cooldown(provider=p, model=m, route=r, cause=c, until_us=int(u)) for p, m, r, c, u in rows]

    def actions(self, team: str = "", limit: int = 50) -> Sequence[OperatorAction]:
        """Return the newest entries of the audit log."""
        condition, parameters = ("WHERE team = ?", [team]) if team else ("", [])
        with self.database.session(writes=False) as session:
            rows = session.rows(
                f"SELECT time_us, actor, action, subject, detail, team FROM operator_actions {condition} "
                "ORDER BY time_us DESC LIMIT ?",
                (*parameters, limit),
            )
        names = ("time_us", "actor", "action", "subject", "detail", "team")
        return [OperatorAction(**dict(zip(names, row, strict=True))) for row in rows]

    def saved_try(self, try_id: str, team: str = "") -> Mapping[str, Any] | None:
        """Return a stored request of an operator; ``None`` if there is none for the team."""
        with self.database.session(writes=False) as session:
            row = session.row("SELECT team, data FROM saved_tries WHERE id = ?", (clean(try_id, 100),))
        if row is None or (team and row[0] != team):
            return None
        found: Mapping[str, Any] = json.loads(row[1])
        return found


def default_log_path() -> Path:
    """Return the SQLite file that is used where no URL is configured.

    >>> from helmdeck_telemetry import default_log_path
    >>> default_log_path().name
    'requests.db'
    """
    return data_directory() / "requests.db"


def _known(session: Session, call_ids: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The ids of those calls that are recorded already."""
    for start in range(0, len(call_ids), MOST_PARAMETERS):
        some = call_ids[start : start + MOST_PARAMETERS]
        marks = ", ".join("?" * len(some))
        yield from session.rows(f"SELECT call_id FROM request_traces WHERE call_id IN ({marks})", some)

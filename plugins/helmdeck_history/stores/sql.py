"""Records and facts in SQLite or PostgreSQL, and the statements that compute what is learned inside the database."""

# ruff: noqa: S608  # statements consist of constants of this module; all values are parameters

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from helmdeck_core import UNKNOWN_TOOL, PlanRecord, RecordedStep
from helmdeck_history.deck_history import PlanGroup
from helmdeck_history.store_types import (
    MAX_SAME_PART,
    MAX_SIMILAR,
    MAX_STEPS,
    MIN_SIMILARITY,
    TOP_MODELS,
    TOP_TOOLS,
    EvidenceRow,
    Fact,
    Scope,
    weight_at,
)
from helmdeck_history.stores import sqlite_digests
from helmdeck_storage import DAY_S, Database, PurgeSchedule, Session

_COLUMNS = "id, kind, caller, intent_sha, outcome, cause, complexity, model, duration_s, time, steps, sketch"
_SUMS = ("attempts", "usable", "priced", "usd", "seconds")
_ADD = f"INSERT INTO plan_history ({_COLUMNS}) VALUES ({', '.join('?' * 12)}) ON CONFLICT (id) DO NOTHING"
_ADD_STEP = "INSERT INTO history_step VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_ADD_VALUE = "INSERT INTO history_value VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_ADD_PART = (
    "INSERT INTO history_part (caller, part, intent_sha, size, time) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (caller, part, intent_sha) DO UPDATE SET time = excluded.time WHERE history_part.time < excluded.time"
)
_ADD_FACT = "INSERT INTO history_fact VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
_ADD_EVIDENCE = (
    "INSERT INTO history_evidence VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (period, source, model, kind, is_after) DO UPDATE SET "
    + ", ".join(f"{each} = history_evidence.{each} + excluded.{each}" for each in _SUMS)
)
_SAME_PART = (
    "SELECT * FROM (SELECT intent_sha, size FROM history_part WHERE caller = ? AND part = ? AND time >= ? "
    f"ORDER BY time DESC LIMIT {MAX_SAME_PART}) AS part_{{n}}"
)
_SIMILAR = (
    "SELECT intent_sha, similarity FROM (SELECT intent_sha, COUNT(*) * 1.0 / (MAX(size) + ? - COUNT(*)) AS similarity "
    "FROM ({parts}) AS parts GROUP BY intent_sha) AS intents "
    f"WHERE similarity >= {MIN_SIMILARITY} AND intent_sha <> ? ORDER BY similarity DESC, intent_sha LIMIT ?"
)
_STEPS = (
    "SELECT tool, weight * ? AS weight FROM (SELECT tool, weight FROM history_step "
    f"WHERE caller = ? AND intent_sha = ? AND time >= ? ORDER BY time DESC LIMIT {MAX_STEPS}) AS steps_{{n}}"
)
_WEIGHTS = "SELECT tool, SUM(weight) FROM ({steps}) AS steps WHERE weight > 0 GROUP BY tool ORDER BY 2 DESC, 1"
_VALUES = (
    "SELECT tool, input, value, COUNT(*) FROM (SELECT tool, input, value FROM history_value "
    "WHERE caller = ? AND time >= ? ORDER BY time DESC LIMIT ?) AS newest GROUP BY tool, input, value ORDER BY 4 DESC, 1, 2, 3"
)
_COUNTED = "caller = ? AND time >= ? AND cause IS NULL AND intent_sha <> ''"
_GROUPS = (
    f"SELECT intent_sha, COUNT(*), MAX(time) FROM plan_history WHERE {_COUNTED} "
    "GROUP BY intent_sha ORDER BY 2 DESC, 3 DESC, 1 LIMIT ?"
)
_GROUPS_OF = (
    f"SELECT intent_sha, COUNT(*), MAX(time) FROM plan_history WHERE {_COUNTED} AND intent_sha IN ({{intents}}) "
    "GROUP BY intent_sha"
)
_MODELS = (
    f"SELECT intent_sha, model, COUNT(*) FROM plan_history WHERE {_COUNTED} AND intent_sha IN ({{intents}}) "
    "GROUP BY intent_sha, model"
)
_TOOLS = (
    "SELECT intent_sha, tool, COUNT(DISTINCT record_id) FROM history_step "
    "WHERE caller = ? AND time >= ? AND weight > 0 AND intent_sha IN ({intents}) GROUP BY intent_sha, tool"
)


class SqlStore:
    """A history store in an SQL database.

    :param keep_days: records that are older, in days, are deleted.
    """

    def __init__(self, database: Database, keep_days: float) -> None:
        self.database = database
        self._keep_s = keep_days * DAY_S
        self._purges = PurgeSchedule()

    def close(self) -> None:
        """Close all connections; idempotent."""
        self.database.close()

    @property
    def _oldest(self) -> float:
        return time.time() - self._keep_s

    # -- records -----------------------------------------------------------------------------------------------

    def add(self, record: PlanRecord) -> None:
        """Store a record."""
        self.add_all((record,))

    def add_all(self, records: Sequence[PlanRecord]) -> None:
        """Store records in one transaction, and delete the expired ones from time to time."""
        oldest = self._oldest
        current = [record for record in records if record.time >= oldest]
        with self.database.session() as session:
            add_records(session, current)
            if self._purges.is_due():
                self._purge(session)

    def plans(self, caller: str, limit: int = 100) -> tuple[PlanRecord, ...]:
        """Return a caller's unexpired records, newest first."""
        return tuple(self._records("DESC", caller, limit))

    def export(self, caller: str) -> Iterator[PlanRecord]:
        """Return a caller's unexpired records, the oldest first."""
        return iter(list(self._records("ASC", caller, 2**31)))

    def _records(self, order: str, caller: str, limit: int) -> Iterable[PlanRecord]:
        statement = f"SELECT {_COLUMNS} FROM plan_history WHERE caller = ? AND time >= ? ORDER BY time {order}, id {order} LIMIT ?"
        with self.database.session(writes=False) as session:
            rows = session.rows(statement, (caller, self._oldest, limit))
        return map(_record, rows)

    # -- what is learned ---------------------------------------------------------------------------------------

    def weights(self, caller: str, intent_sha: str, sketch: Sequence[int], now: float) -> Mapping[str, float]:
        """Return the weights of a caller's tools for similar requests."""
        oldest = now - self._keep_s
        if self.database.dialect == "sqlite":
            weights = sqlite_digests.weights(self.database.read, caller, intent_sha, sketch, now, oldest)
            if weights is not None:
                return weights
        return self.computed_weights(caller, intent_sha, sketch, now)

    def computed_weights(self, caller: str, intent_sha: str, sketch: Sequence[int], now: float) -> Mapping[str, float]:
        """Return the same, computed from the rows."""
        oldest, scale = now - self._keep_s, 1 / weight_at(now)
        with self.database.session(writes=False) as session:
            intents = [(intent_sha, 1.0), *_similar(session, caller, intent_sha, sketch, oldest, MAX_SIMILAR)]
            selects = " UNION ALL ".join(_STEPS.format(n=n) for n in range(len(intents)))
            parameters = [each for sha, near in intents for each in (near * near * scale, caller, sha, oldest)]
            return {tool: float(weight) for tool, weight in session.rows(_WEIGHTS.format(steps=selects), parameters)}

    def values(self, caller: str, limit: int) -> Sequence[tuple[str, str, Any, int]]:
        """Return a caller's newest values with their numbers of uses."""
        rows = self.database.read(_VALUES, (caller, self._oldest, limit))
        return [(tool, name, msgspec.json.decode(value), uses) for tool, name, value, uses in rows]

    def groups(self, caller: str, limit: int) -> tuple[PlanGroup, ...]:
        """Return a caller's plans by request."""
        with self.database.session(writes=False) as session:
            rows = session.rows(_GROUPS, (caller, self._oldest, limit))
            return _described(session, caller, self._oldest, rows, {})

    def similar(self, caller: str, intent_sha: str, sketch: Sequence[int], limit: int) -> tuple[PlanGroup, ...]:
        """Return the groups of similar requests, the most similar first."""
        with self.database.session(writes=False) as session:
            found = _similar(session, caller, intent_sha, sketch, self._oldest, limit)
            near = dict([(intent_sha, 1.0), *found])
            statement = _GROUPS_OF.format(intents=", ".join("?" * len(near)))
            groups = _described(
                session, caller, self._oldest, session.rows(statement, (caller, self._oldest, *near)), near
            )
        return tuple(sorted(groups, key=lambda each: (-(each.similarity or 0), each.intent_sha))[:limit])

    # -- deletion ----------------------------------------------------------------------------------------------

    def forget(self, caller: str, scope: Scope) -> int:
        """Delete a caller's records in a scope, and everything that was derived from them."""
        conditions, parameters = ["caller = ?"], [caller]
        if scope.intent_sha is not None:
            conditions.append("intent_sha = ?")
            parameters.append(scope.intent_sha)
        if scope.before is not None:
            conditions.append("time < ?")
            parameters.append(scope.before)  # type: ignore[arg-type]
        if scope.tool is not None:
            conditions.append("id IN (SELECT record_id FROM history_step WHERE caller = ? AND tool = ?)")
            parameters += [caller, scope.tool]
        chosen = f"SELECT id FROM plan_history WHERE {' AND '.join(conditions)}"
        with self.database.session() as session:
            for table in ("history_step", "history_value"):
                if table == "history_value" or scope.tool is None:
                    session.change(f"DELETE FROM {table} WHERE record_id IN ({chosen})", parameters)
            count = session.change(f"DELETE FROM plan_history WHERE id IN ({chosen})", parameters)
            if scope.tool is not None:  # the steps were needed to choose the records
                statement = "DELETE FROM history_step WHERE caller = ? AND record_id NOT IN (SELECT id FROM plan_history WHERE caller = ?)"
                session.change(statement, (caller, caller))
            statement = (
                "DELETE FROM history_part WHERE caller = ? AND intent_sha NOT IN "
                "(SELECT intent_sha FROM plan_history WHERE caller = ? AND sketch <> '[]')"
            )
            session.change(statement, (caller, caller))
        return count

    def purge(self) -> int:
        """Delete what has expired."""
        with self.database.session() as session:
            return self._purge(session)

    def _purge(self, session: Session) -> int:
        oldest, expired = (self._oldest,), 0
        chosen = "SELECT id FROM plan_history WHERE time < ?"
        if session.rows(f"{chosen} LIMIT 1", oldest):
            session.change(f"DELETE FROM history_step WHERE record_id IN ({chosen})", oldest)
            session.change(f"DELETE FROM history_value WHERE record_id IN ({chosen})", oldest)
            session.change("DELETE FROM history_part WHERE time < ?", oldest)
            expired = session.change("DELETE FROM plan_history WHERE time < ?", oldest)
        session.change("DELETE FROM history_evidence WHERE period < ?", (int(oldest[0]),))
        return expired + session.change("DELETE FROM history_fact WHERE expires < ?", (time.time(),))

    # -- evidence about models ---------------------------------------------------------------------------------

    def add_evidence(self, rows: Sequence[EvidenceRow]) -> None:
        """Add the numbers of the rows to the stored ones."""
        values = sorted(
            (
                each.period,
                each.source,
                each.model,
                each.kind,
                int(each.is_after),
                *(getattr(each, name) for name in _SUMS),
            )
            for each in rows
        )  # in one order, so that two writers do not wait for each other
        with self.database.session() as session:
            session.many(_ADD_EVIDENCE, values)

    def evidence(self, since: float) -> Sequence[EvidenceRow]:
        """Return the rows of all processes from a time on."""
        statement = (
            f"SELECT source, period, model, kind, is_after, {', '.join(_SUMS)} FROM history_evidence "
            "WHERE period >= ? ORDER BY period, source, model, kind, is_after"
        )
        with self.database.session(writes=False) as session:
            rows = session.rows(statement, (max(int(since), int(self._oldest)),))
        return [
            EvidenceRow(source, period, model, kind, bool(is_after), *sums)
            for source, period, model, kind, is_after, *sums in rows
        ]

    # -- facts -------------------------------------------------------------------------------------------------

    def add_facts(self, facts: Sequence[Fact]) -> None:
        """Store facts."""
        rows = [(f.id, f.caller, f.text, msgspec.json.encode(f.tags).decode(), f.time, f.expires) for f in facts]
        with self.database.session() as session:
            session.many(_ADD_FACT, rows)

    def facts(self, caller: str) -> tuple[Fact, ...]:
        """Return a caller's unexpired facts, the newest first."""
        statement = (
            "SELECT id, caller, text, tags, time, expires FROM history_fact "
            "WHERE caller = ? AND expires >= ? ORDER BY time DESC, id"
        )
        with self.database.session(writes=False) as session:
            rows = session.rows(statement, (caller, time.time()))
        return tuple(
            Fact(id=i, caller=c, text=text, tags=tuple(msgspec.json.decode(tags)), time=at, expires=expires)
            for i, c, text, tags, at, expires in rows
        )

    def forget_facts(self, caller: str, ids: Sequence[str] | None = None) -> int:
        """Delete facts of a caller by id, or all of them."""
        if ids is not None and not ids:
            return 0
        condition = "" if ids is None else f" AND id IN ({', '.join('?' * len(ids))})"
        with self.database.session() as session:
            return session.change(f"DELETE FROM history_fact WHERE caller = ?{condition}", (caller, *(ids or ())))


def add_records(session: Session, records: Sequence[PlanRecord]) -> None:
    """Insert records and what is derived from them; known ids change nothing."""
    rows, steps, values = [], [], []
    parts: dict[tuple[str, int, str], tuple[str, int, str, int, float]] = {}
    for record in records:
        rows.append(
            (
                record.id, record.kind, record.caller, record.intent_sha, record.outcome, record.cause,
                record.complexity, record.model, record.duration_s, record.time, _steps(record.steps),
                msgspec.json.encode(record.sketch).decode(),
            )
        )  # fmt: skip
        counts = record.cause is None and record.intent_sha != ""
        for place, step in enumerate(record.steps):
            weight = weight_at(record.time) if counts and step.tool != UNKNOWN_TOOL else 0.0
            steps.append((record.id, place, record.caller, record.intent_sha, step.tool, record.time, weight))
            for name, value in step.values.items():
                written = msgspec.json.encode(value).decode()
                values.append((record.id, place, name, record.caller, step.tool, written, record.time))
        if counts:
            for part in record.sketch:
                key = (record.caller, part, record.intent_sha)
                parts[key] = (*key, len(record.sketch), max(record.time, parts[key][-1] if key in parts else 0.0))
    session.many(_ADD, rows)
    session.many(_ADD_STEP, steps)
    session.many(_ADD_VALUE, values)
    session.many(_ADD_PART, sorted(parts.values()))  # in one order, so that two writers do not wait for each other


def _similar(
    session: Session, caller: str, intent_sha: str, sketch: Sequence[int], oldest: float, limit: int
) -> list[tuple[str, float]]:
    if not sketch:
        return []
    selects = " UNION ALL ".join(_SAME_PART.format(n=n) for n in range(len(sketch)))
    parameters = [each for part in sketch for each in (caller, part, oldest)]
    rows = session.rows(_SIMILAR.format(parts=selects), (len(sketch), *parameters, intent_sha, limit))
    return [(sha, float(near)) for sha, near in rows]


def _described(
    session: Session, caller: str, oldest: float, rows: Sequence[Sequence[Any]], near: Mapping[str, float]
) -> tuple[PlanGroup, ...]:
    if not rows:
        return ()
    intents = ", ".join("?" * len(rows))
    parameters = (caller, oldest, *(row[0] for row in rows))
    tools = session.rows(_TOOLS.format(intents=intents), parameters)
    models = session.rows(_MODELS.format(intents=intents), parameters)
    return tuple(
        PlanGroup(
            intent_sha=sha,
            plans=count,
            tools=_top(tools, sha, TOP_TOOLS),
            models=_top(models, sha, TOP_MODELS),
            time=newest,
            similarity=near.get(sha),
        )
        for sha, count, newest in rows
    )


def _top(rows: Sequence[Sequence[Any]], intent_sha: str, most: int) -> dict[str, int]:
    counts = sorted(((name, count) for sha, name, count in rows if sha == intent_sha), key=lambda r: (-r[1], r[0]))
    return dict(counts[:most])


def _steps(steps: Sequence[RecordedStep]) -> str:
    return msgspec.json.encode([(s.order, s.tool, s.args_sha, dict(s.values)) for s in steps]).decode()


def _record(row: Sequence[Any]) -> PlanRecord:
    *fields, steps, sketch = row
    names = _COLUMNS.split(", ")
    return PlanRecord(
        **dict(zip(names, fields, strict=False)),
        steps=tuple(RecordedStep(*step) for step in msgspec.json.decode(steps)),
        sketch=tuple(msgspec.json.decode(sketch)),
    )

"""The Redis store: one server, shared by any number of hosts."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from helmdeck_core import UNKNOWN_TOOL, PlanRecord
from helmdeck_history.deck_history import PlanGroup
from helmdeck_history.rows import fact_of_row, fact_to_row, record_of_row, record_to_row
from helmdeck_history.store_types import (
    HALF_LIFE_S,
    MAX_SAME_PART,
    MAX_SIMILAR,
    MAX_STEPS,
    MIN_SIMILARITY,
    TOP_MODELS,
    TOP_TOOLS,
    EvidenceRow,
    Fact,
    Scope,
)
from helmdeck_history.stores import redis_scripts
from helmdeck_storage import DAY_S, RedisServer, glob_literal

PREFIX = "helmdeck:history"
FACTS_S = 366 * 86_400
"""Seconds after which the facts of a caller who stores no more of them are deleted; each expires earlier."""

PAGE = 1_000
_SUMS = ("attempts", "usable", "priced", "usd", "seconds")
NO_MODEL = "-"
"""Stands for an empty name, which the scripts would not find between two separators."""


class RedisStore:
    """Records and facts in a Redis database.

    :param url: ``redis://USER:PASSWORD@HOST:PORT/DATABASE``; the query parameter ``prefix`` sets the prefix of all keys.
    :param keep_days: records that are older, in days, are deleted.
    :raises StorageError: the server does not answer, or a newer release wrote the keys.
    """

    VERSION = 1

    def __init__(self, url: str, keep_days: float) -> None:
        self._server = RedisServer(url, "history", PREFIX)
        self._prefix = self._server.prefix
        self._client = self._server.client
        self._keep_s = keep_days * DAY_S
        script = self._client.register_script
        self._add, self._forget = script(redis_scripts.ADD), script(redis_scripts.FORGET)
        self._weights = script(redis_scripts.WEIGHTS % (MAX_SAME_PART, MAX_STEPS))
        self._similar = script(redis_scripts.SIMILAR % MAX_SAME_PART)
        self._groups, self._values = script(redis_scripts.GROUPS), script(redis_scripts.VALUES)
        self._expire = script(redis_scripts.EXPIRE)
        self._server.check_version(self.VERSION)

    def close(self) -> None:
        """Close all connections; idempotent."""
        self._server.close()

    # -- records -----------------------------------------------------------------------------------------------

    def add(self, record: PlanRecord) -> None:
        """Store a record."""
        self.add_all((record,))

    def add_all(self, records: Sequence[PlanRecord]) -> None:
        """Store records in one transaction, and delete expired ones of their callers."""
        by_caller: dict[str, list[Any]] = defaultdict(list)
        oldest = self._oldest
        for record in records:
            if record.time >= oldest:
                row = msgspec.json.encode(_row(record)).decode()
                by_caller[record.caller] += [record.id, record.time, row]
        ttl = math.ceil(min(self._keep_s, 100 * 366 * DAY_S)) + 1
        with self._server.errors(), self._client.pipeline(transaction=True) as pipe:
            for caller, rows in by_caller.items():
                self._add(args=[self._base(caller), oldest, ttl, *rows], client=pipe)
            pipe.execute()

    def plans(self, caller: str, limit: int = 100) -> tuple[PlanRecord, ...]:
        """Return a caller's unexpired records, newest first."""
        key = f"{self._base(caller)}times"
        with self._server.errors():
            ids = self._client.zrevrangebyscore(key, "+inf", self._oldest, start=0, num=limit)
        return tuple(self._records(caller, ids))

    def export(self, caller: str) -> Iterator[PlanRecord]:
        """Return a caller's unexpired records, the oldest first."""
        with self._server.errors():
            ids = self._client.zrangebyscore(f"{self._base(caller)}times", self._oldest, "+inf")
        return self._records(caller, ids)

    def _records(self, caller: str, ids: Sequence[str]) -> Iterator[PlanRecord]:
        for start in range(0, len(ids), PAGE):
            with self._server.errors():
                rows = self._client.hmget(f"{self._base(caller)}rows", ids[start : start + PAGE])
            yield from (record_of_row(msgspec.json.decode(row)["r"]) for row in rows if row is not None)

    # -- what is learned ---------------------------------------------------------------------------------------

    def weights(self, caller: str, intent_sha: str, sketch: Sequence[int], now: float) -> Mapping[str, float]:
        """Return the weights of a caller's tools for similar requests."""
        arguments = (self._base(caller), intent_sha, now - self._keep_s, now, HALF_LIFE_S, MIN_SIMILARITY, MAX_SIMILAR)
        rows = self._run(self._weights, *arguments, *sketch)
        found = [(tool, float(weight)) for tool, weight in rows]
        return dict(sorted(found, key=lambda each: (-each[1], each[0])))

    def values(self, caller: str, limit: int) -> Sequence[tuple[str, str, Any, int]]:
        """Return a caller's newest values with their numbers of uses."""
        rows = self._run(self._values, self._base(caller), self._oldest, limit)
        found = [(tool, name, msgspec.json.decode(value), uses) for tool, name, value, uses in rows]
        return sorted(found, key=lambda row: (-row[3], row[0], row[1], repr(row[2])))

    def groups(self, caller: str, limit: int) -> tuple[PlanGroup, ...]:
        """Return a caller's plans by request."""
        return tuple(map(_group, self._run(self._groups, self._base(caller), self._oldest, limit)))

    def similar(self, caller: str, intent_sha: str, sketch: Sequence[int], limit: int) -> tuple[PlanGroup, ...]:
        """Return the groups of similar requests, the most similar first."""
        base = self._base(caller)
        rows = self._run(self._similar, base, intent_sha, self._oldest, MIN_SIMILARITY, limit, *sketch)
        near = [each for row in [(intent_sha, "1"), *rows] for each in row]
        return tuple(map(_group, self._run(self._groups, base, self._oldest, limit, *near)))

    # -- deletion ----------------------------------------------------------------------------------------------

    def forget(self, caller: str, scope: Scope) -> int:
        """Delete a caller's records in a scope, and everything that was derived from them."""
        conditions = ("" if each is None else each for each in (scope.intent_sha, scope.tool, scope.before))
        return int(self._run(self._forget, self._base(caller), *conditions))

    def purge(self) -> int:
        """Delete what has expired."""
        count = 0
        for base in self._bases("times"):
            while deleted := int(self._run(self._expire, base, self._oldest)):
                count += deleted
        for base in self._bases("facts"):
            expired = [fact.id for fact in self._all_facts(base) if fact.expires < time.time()]
            with self._server.errors():
                count += int(self._client.hdel(f"{base}facts", *expired)) if expired else 0
        return count

    def _bases(self, name: str) -> Iterator[str]:
        """Yield the prefixes of all callers that have a key of a name."""
        with self._server.errors():
            keys = list(self._client.scan_iter(f"{glob_literal(self._prefix)}:{{*}}:{name}", count=PAGE))
        return (key.removesuffix(name) for key in keys)

    # -- evidence about models ---------------------------------------------------------------------------------

    def add_evidence(self, rows: Sequence[EvidenceRow]) -> None:
        """Add the numbers of the rows to the stored ones."""
        ttl = math.ceil(min(self._keep_s, 100 * 366 * DAY_S)) + 1
        with self._server.errors(), self._client.pipeline(transaction=True) as pipe:
            for row in rows:
                key = f"{self._evidence}{row.period}"
                for name in _SUMS:
                    field = msgspec.json.encode([row.source, row.model, row.kind, row.is_after, name]).decode()
                    pipe.hincrbyfloat(key, field, getattr(row, name))
                pipe.expire(key, ttl)
            pipe.execute()

    def evidence(self, since: float) -> Sequence[EvidenceRow]:
        """Return the rows of all processes from a time on."""
        since, found = max(since, self._oldest), []
        with self._server.errors():
            keys = self._client.scan_iter(f"{glob_literal(self._evidence)}*", count=PAGE)
            periods = sorted(int(key.rpartition(":")[2]) for key in keys)
        for period in (each for each in periods if each >= int(since)):
            with self._server.errors():
                fields = self._client.hgetall(f"{self._evidence}{period}")
            sums: dict[tuple[str, str, str, bool], dict[str, float]] = defaultdict(dict)
            for field, value in fields.items():
                *row, name = msgspec.json.decode(field)
                sums[tuple(row)][name] = float(value)
            for (source, model, kind, is_after), each in sorted(sums.items()):
                counts = [round(each.get(name, 0.0)) for name in _SUMS[:3]]
                found.append(
                    EvidenceRow(
                        source, period, model, kind, is_after, *counts, *(each.get(name, 0.0) for name in _SUMS[3:])
                    )
                )
        return found

    @property
    def _evidence(self) -> str:
        return f"{self._prefix}:{{}}:evidence:"

    # -- facts -------------------------------------------------------------------------------------------------

    def add_facts(self, facts: Sequence[Fact]) -> None:
        """Store facts."""
        with self._server.errors(), self._client.pipeline(transaction=True) as pipe:
            for fact in facts:
                key = f"{self._base(fact.caller)}facts"
                pipe.hsetnx(key, fact.id, msgspec.json.encode(fact_to_row(fact)).decode())
                pipe.expire(key, FACTS_S)
            pipe.execute()

    def facts(self, caller: str) -> tuple[Fact, ...]:
        """Return a caller's unexpired facts, the newest first."""
        now = time.time()
        found = [fact for fact in self._all_facts(self._base(caller)) if fact.expires >= now]
        return tuple(sorted(found, key=lambda fact: (-fact.time, fact.id)))

    def _all_facts(self, base: str) -> Sequence[Fact]:
        with self._server.errors():
            rows = self._client.hvals(f"{base}facts")
        return [fact_of_row(msgspec.json.decode(row)) for row in rows]

    def forget_facts(self, caller: str, ids: Sequence[str] | None = None) -> int:
        """Delete facts of a caller by id, or all of them."""
        key = f"{self._base(caller)}facts"
        with self._server.errors():
            chosen = self._client.hkeys(key) if ids is None else ids
            return int(self._client.hdel(key, *chosen)) if chosen else 0

    def _run(self, script: Callable[..., Any], *arguments: Any) -> Any:
        with self._server.errors():
            return script(args=arguments)

    def _base(self, caller: str) -> str:
        return f"{self._prefix}:{{{caller}}}:"

    @property
    def _oldest(self) -> float:
        return time.time() - self._keep_s


def _row(record: PlanRecord) -> dict[str, Any]:
    counts = record.cause is None and record.intent_sha != ""
    tools = [step.tool for step in record.steps]
    useful = (tool for tool in tools if tool != UNKNOWN_TOOL)
    return {
        "r": record_to_row(record),
        "s": record.intent_sha,
        "t": tools,
        "m": redis_scripts.SEPARATOR.join((record.id, record.model or NO_MODEL, *useful)) if counts else "",
        "p": [str(part) for part in record.sketch] if counts else [],
        "v": [
            msgspec.json.encode([record.id, place, step.tool, name, msgspec.json.encode(value).decode()]).decode()
            for place, step in enumerate(record.steps)
            for name, value in step.values.items()
        ],
    }


def _group(row: Sequence[Any]) -> PlanGroup:
    sha, plans, time_s, near, tools, models = row
    return PlanGroup(
        intent_sha=sha,
        plans=plans,
        tools=_top(tools, TOP_TOOLS),
        models=_top(["" if each == NO_MODEL else each for each in models], TOP_MODELS),
        time=float(time_s),
        similarity=float(near) if near else None,
    )


def _top(flat: Sequence[Any], most: int) -> dict[str, int]:
    """The most frequent of alternating names and counts."""
    counts = sorted(zip(flat[::2], flat[1::2], strict=True), key=lambda each: (-each[1], each[0]))
    return dict(counts[:most])

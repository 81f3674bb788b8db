"""The Redis store: one server, shared by any number of hosts."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from helmdeck_gateway.stores import redis_accounts, redis_keys
from helmdeck_gateway.stores.records import (
    MAX_TEAMS,
    Admission,
    AuditRecord,
    KeyRecord,
    Node,
    Open,
    Period,
    Refusal,
    TeamRecord,
    Usage,
)
from helmdeck_gateway.stores.redis_rows import RedisRows
from helmdeck_gateway.stores.store import MAX_DOCUMENTS, checked, document_id
from helmdeck_storage import AsyncRedisServer

PREFIX: Final = "helmdeck:gateway"

# KEYS: the document, the index of its kind. ARGV: data, milliseconds, maximum, prefix of documents, id.
_PUT: Final = """
local time = redis.call('TIME')
if tonumber(ARGV[2]) <= 0 then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[5])
  return
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('ZADD', KEYS[2], time[1] + time[2] / 1e6, ARGV[5])
local surplus = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[3])
if surplus > 0 then
  for index, name in ipairs(redis.call('ZPOPMIN', KEYS[2], surplus)) do
    if index % 2 == 1 then redis.call('DEL', ARGV[4] .. name) end
  end
end
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
"""


class RedisStore(RedisRows):
    """The state of a gateway in a Redis database; all clocks are the server's.

    :param url: ``redis://USER:PASSWORD@HOST:PORT/DATABASE``; the query parameter ``prefix`` sets the prefix of all keys.
    :raises ValueError: the URL is malformed.
    """

    def __init__(self, url: str, *, max_documents: int = MAX_DOCUMENTS) -> None:
        self._server = AsyncRedisServer(url, "gateway", PREFIX)
        self._prefix = self._server.prefix
        self._max_documents = max_documents
        self._client = self._server.client
        script = self._client.register_script
        self._put = script(_PUT)
        self._save_key, self._find_key = script(redis_keys.SAVE_KEY), script(redis_keys.FIND_KEY)
        self._save_team, self._find_teams = script(redis_keys.SAVE_TEAM), script(redis_keys.FIND_TEAMS)
        self._add_audit = script(redis_keys.ADD_AUDIT)
        self._admit, self._renew = script(redis_accounts.ADMIT), script(redis_accounts.RENEW)
        self._settle, self._usage = script(redis_accounts.SETTLE), script(redis_accounts.USAGE)
        self._spend = script(redis_accounts.SPEND)

    async def put(self, kind: str, key: str, owner: str, data: bytes, ttl_s: float) -> None:
        """Implement ``DocumentStore.put``."""
        name = document_id(kind, key, owner)
        place = self._documents(kind)
        arguments = (checked(data), math.ceil(ttl_s * 1_000), self._max_documents, f"{place}:", name)
        async with self._server.errors():
            await self._put(keys=(f"{place}:{name}", place), args=arguments)

    async def get(self, kind: str, key: str, owner: str) -> bytes | None:
        """Implement ``DocumentStore.get``."""
        name = f"{self._documents(kind)}:{document_id(kind, key, owner)}"
        async with self._server.errors():
            data: bytes | None = await self._client.get(name)
        return data

    async def delete(self, kind: str, key: str, owner: str) -> bool:
        """Implement ``DocumentStore.delete``."""
        place, name = self._documents(kind), document_id(kind, key, owner)
        async with self._server.errors(), self._client.pipeline(transaction=True) as pipe:
            pipe.delete(f"{place}:{name}").zrem(place, name)
            counts: Sequence[int] = await pipe.execute()
        return counts[0] > 0

    async def save_key(self, record: KeyRecord, entry: AuditRecord | None = None) -> bool:
        """Implement ``KeyStore.save_key``."""
        arguments = (record.name, record.version, record.to_json(), *_entry(entry), record.digest, record.old_digest)
        async with self._server.errors():
            return bool(await self._save_key(keys=(*self._keys, self._audit), args=arguments))

    async def find_key(self, digest: str) -> KeyRecord | None:
        """Implement ``KeyStore.find_key``."""
        async with self._server.errors():
            text: bytes | None = await self._find_key(keys=self._keys, args=(digest,))
        return KeyRecord.from_json(text) if text is not None else None

    async def list_keys(self) -> Sequence[KeyRecord]:
        """Implement ``KeyStore.list_keys``."""
        async with self._server.errors():
            texts = await self._client.hvals(self._keys[0])
        return sorted((KeyRecord.from_json(text) for text in texts), key=lambda record: record.name)

    async def save_team(self, record: TeamRecord, entry: AuditRecord | None = None) -> bool:
        """Implement ``TeamStore.save_team``."""
        arguments = (record.name, record.version, record.to_json(), *_entry(entry))
        async with self._server.errors():
            return bool(await self._save_team(keys=(self._teams, self._audit), args=arguments))

    async def find_teams(self, name: str) -> Sequence[TeamRecord]:
        """Implement ``TeamStore.find_teams``."""
        async with self._server.errors():
            texts: Sequence[bytes] = await self._find_teams(keys=(self._teams,), args=(name, MAX_TEAMS))
        return [TeamRecord.from_json(text) for text in texts]

    async def list_teams(self) -> Sequence[TeamRecord]:
        """Implement ``TeamStore.list_teams``."""
        async with self._server.errors():
            texts = await self._client.hvals(self._teams)
        return sorted((TeamRecord.from_json(text) for text in texts), key=lambda record: record.name)

    async def add_audit(self, entry: AuditRecord) -> bool:
        """Implement ``AuditStore.add_audit``."""
        async with self._server.errors():
            return bool(await self._add_audit(keys=(self._audit,), args=_entry(entry)))

    async def list_audit(self, limit: int, before: int | None = None) -> Sequence[AuditRecord]:
        """Implement ``AuditStore.list_audit``."""
        async with self._server.errors():
            last = await self._client.llen(self._audit) if before is None else before - 1
            if last <= 0 or limit <= 0:
                return []
            texts = await self._client.lrange(self._audit, max(0, last - limit), last - 1)
        return [AuditRecord.from_json(text) for text in reversed(texts)]

    async def admit(
        self, nodes: Sequence[Node], call: Open, lease_s: float, *, now_s: float | None = None
    ) -> Admission | Refusal:
        """Implement ``AccountStore.admit``."""
        values: list[Any] = [call.call_id, now_s, lease_s, call.held_nusd, call.held_tokens]
        for node in nodes:
            limits = node.limits
            amounts = (limits.concurrency, limits.day_nusd, limits.month_nusd, limits.tokens)
            values += (limits.rate, limits.window_s, *amounts)
        rows = await self._run(self._admit, [node.account for node in nodes], values)
        limit, place, retry_after_s, spent, held, left = (each.decode() for each in rows)
        if not limit:
            return Admission(int(left) if left else None)
        return Refusal(
            limit=limit,
            place=int(place),
            retry_after_s=float(retry_after_s),
            spent_nusd=int(spent),
            held_nusd=int(held),
        )

    async def renew(
        self, accounts: Sequence[str], calls: Sequence[Open], lease_s: float, *, now_s: float | None = None
    ) -> None:
        """Implement ``AccountStore.renew``."""
        rows = [each for call in calls for each in (call.call_id, call.held_nusd, call.held_tokens)]
        await self._run(self._renew, accounts, (now_s, lease_s, *rows))

    async def settle(
        self, accounts: Sequence[str], call_id: str, cost_nusd: int, tokens: int = 0, *, unpriced: bool = False
    ) -> bool:
        """Implement ``AccountStore.settle``."""
        return bool(await self._run(self._settle, accounts, (call_id, cost_nusd, tokens, int(unpriced))))

    async def usage(self, account: str, *, now_s: float | None = None) -> Usage:
        """Implement ``AccountStore.usage``."""
        return _usage(await self._run(self._usage, [account], (now_s,)))

    async def usages(self, accounts: Sequence[str], *, now_s: float | None = None) -> Sequence[Usage]:
        """Implement ``AccountStore.usages``."""
        return [_usage(rows) for rows in await self._run_each(self._usage, accounts, (now_s,))]

    async def spend(
        self, accounts: Sequence[str], periods: Sequence[str], *, now_s: float | None = None
    ) -> Mapping[str, Period]:
        """Implement ``AccountStore.spend``."""
        found = await self._run_each(self._spend, accounts, (now_s, *periods))
        return {account: _period(list(map(int, row))) for account, row in zip(accounts, found, strict=True) if row}

    async def _run(self, script: Callable[..., Awaitable[Any]], accounts: Sequence[str], values: Sequence[Any]) -> Any:
        """Run a script on the keys of accounts."""
        async with self._server.errors():
            return await script(keys=self._account_keys(accounts), args=_arguments(values))

    async def _run_each(
        self, script: Callable[..., Awaitable[Any]], accounts: Sequence[str], values: Sequence[Any]
    ) -> Sequence[Any]:
        """Run a script for each account, in one transaction."""
        arguments = _arguments(values)
        async with self._server.errors(), self._client.pipeline(transaction=True) as pipe:
            for account in accounts:
                await script(keys=self._account_keys([account]), args=arguments, client=pipe)
            found: Sequence[Any] = await pipe.execute()
        return found

    def _account_keys(self, accounts: Sequence[str]) -> Sequence[str]:
        names = ("account", "calls", "open", "lost", "starts", "spend")
        # The braces keep the keys of an account on one node of a cluster; those of several accounts may be on several.
        return [f"{self._prefix}:{{{account}}}:{name}" for account in accounts for name in names]

    @property
    def _keys(self) -> Sequence[str]:
        return (f"{self._prefix}:{{keys}}:records", f"{self._prefix}:{{keys}}:digests")

    @property
    def _teams(self) -> str:
        return f"{self._prefix}:{{keys}}:teams"

    @property
    def _audit(self) -> str:
        return f"{self._prefix}:{{keys}}:audit"

    async def aclose(self) -> None:
        """Close all connections; a later use opens them again."""
        await self._server.aclose()

    def _documents(self, kind: str) -> str:
        # The braces keep the keys of a kind on one node of a cluster.
        return f"{self._prefix}:{{documents:{kind}}}"


def _arguments(values: Sequence[Any]) -> Sequence[Any]:
    return ["" if value is None else value for value in values]


def _usage(rows: Sequence[bytes]) -> Usage:
    tokens, tokens_s, now_s = map(float, rows[:3])
    under_way, *amounts = map(int, rows[3:])
    day, month = _period(amounts[:5]), _period(amounts[5:])
    return Usage(day=day, month=month, under_way=under_way, tokens=tokens, tokens_s=tokens_s, now_s=now_s)


def _period(row: Sequence[int]) -> Period:
    spent, held, requests, refused, unpriced = row
    return Period(spent_nusd=spent, held_nusd=held, requests=requests, refused=refused, unpriced=unpriced)


def _entry(entry: AuditRecord | None) -> tuple[int | str, str]:
    return ("", "") if entry is None else (entry.number, entry.to_json())

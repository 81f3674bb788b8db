"""The Redis store: one server, shared by any number of hosts."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from helmdeck_gateway.stores import redis_accounts as accounts
from helmdeck_gateway.stores.records import Admission, KeyRecord, Limits, Open, Period, Refusal, Usage
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


class RedisStore:
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
        self._save_key, self._find_key = script(accounts.SAVE_KEY), script(accounts.FIND_KEY)
        self._admit, self._renew = script(accounts.ADMIT), script(accounts.RENEW)
        self._settle, self._usage = script(accounts.SETTLE), script(accounts.USAGE)

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

    async def save_key(self, record: KeyRecord) -> bool:
        """Implement ``KeyStore.save_key``."""
        arguments = (record.name, record.version, record.digest, record.to_json())
        async with self._server.errors():
            return bool(await self._save_key(keys=self._keys, args=arguments))

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

    async def admit(
        self, account: str, call_id: str, limits: Limits, held_nusd: int, lease_s: float, *, now_s: float | None = None
    ) -> Admission | Refusal:
        """Implement ``AccountStore.admit``."""
        amounts = (limits.concurrency, limits.day_nusd, limits.month_nusd)
        values = (call_id, now_s, lease_s, held_nusd, limits.rate, limits.window_s, *amounts)
        rows = await self._run(self._admit, account, values)
        limit, retry_after_s, spent, held = (each.decode() for each in rows)
        if not limit:
            return Admission()
        return Refusal(limit=limit, retry_after_s=float(retry_after_s), spent_nusd=int(spent), held_nusd=int(held))

    async def renew(self, account: str, calls: Sequence[Open], lease_s: float, *, now_s: float | None = None) -> None:
        """Implement ``AccountStore.renew``."""
        rows = [each for call in calls for each in (call.call_id, call.held_nusd)]
        await self._run(self._renew, account, (now_s, lease_s, *rows))

    async def settle(self, account: str, call_id: str, cost_nusd: int, *, unpriced: bool = False) -> bool:
        """Implement ``AccountStore.settle``."""
        return bool(await self._run(self._settle, account, (call_id, cost_nusd, int(unpriced))))

    async def usage(self, account: str, *, now_s: float | None = None) -> Usage:
        """Implement ``AccountStore.usage``."""
        under_way, *amounts = map(int, await self._run(self._usage, account, (now_s,)))
        return Usage(day=_period(amounts[:5]), month=_period(amounts[5:]), under_way=under_way)

    async def _run(self, script: Callable[..., Awaitable[Any]], account: str, values: Sequence[Any]) -> Any:
        """Run a script on the keys of an account."""
        names = ("account", "calls", "open", "lost", "starts", "spend")
        # The braces keep the keys of an account on one node of a cluster.
        keys = [f"{self._prefix}:{{{account}}}:{name}" for name in names]
        arguments = ["" if value is None else value for value in values]
        async with self._server.errors():
            return await script(keys=keys, args=arguments)

    @property
    def _keys(self) -> Sequence[str]:
        return (f"{self._prefix}:{{keys}}:records", f"{self._prefix}:{{keys}}:digests")

    async def aclose(self) -> None:
        """Close all connections; a later use opens them again."""
        await self._server.aclose()

    def _documents(self, kind: str) -> str:
        # The braces keep the keys of a kind on one node of a cluster.
        return f"{self._prefix}:{{documents:{kind}}}"


def _period(row: Sequence[int]) -> Period:
    spent, held, requests, refused, unpriced = row
    return Period(spent_nusd=spent, held_nusd=held, requests=requests, refused=refused, unpriced=unpriced)

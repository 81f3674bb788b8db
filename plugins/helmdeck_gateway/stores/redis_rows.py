"""Rows in Redis. Each step is one script, which no other command interrupts."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import Any, Final

from helmdeck_gateway.stores.rows import Row
from helmdeck_storage import AsyncRedisServer

# KEYS of all scripts: data, states and holders by name (hashes), then expiry of all names and lease of the open ones (sorted sets).
_START: Final = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
local function drop(name)
  for index = 1, 3 do redis.call('HDEL', KEYS[index], name) end
  redis.call('ZREM', KEYS[5], name)
  redis.call('ZREM', KEYS[6], name)
  return redis.call('ZREM', KEYS[4], name)
end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now)) do drop(name) end
"""
_PUT: Final = """
local ttl = tonumber(ARGV[1])
for index = 3, #ARGV, 2 do
  if ARGV[2] == '0' or redis.call('HEXISTS', KEYS[1], ARGV[index]) == 0 then
    drop(ARGV[index])
    redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1])
    redis.call('ZADD', KEYS[4], now + ttl, ARGV[index])
    redis.call('ZADD', KEYS[5], 0, ARGV[index])
    redis.call('ZADD', KEYS[6], 0, ARGV[index])
  end
end
for index = 1, #KEYS do
  if redis.call('PTTL', KEYS[index]) < ttl * 1000 then redis.call('PEXPIRE', KEYS[index], math.ceil(ttl * 1000)) end
end
"""
_REPLACE: Final = """
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
"""
_LIST: Final = """
local names
if ARGV[1] == 'one' then names = {ARGV[2]}
elseif ARGV[1] == 'newest' then
  names = redis.call('ZREVRANGEBYLEX', KEYS[6], ARGV[2] == '' and '+' or '(' .. ARGV[2], '-', 'LIMIT', 0, ARGV[3])
else names = redis.call('ZRANGEBYLEX', KEYS[6], ARGV[2] == '' and '-' or '(' .. ARGV[2], '+', 'LIMIT', 0, ARGV[3]) end
local found = {}
for _, name in ipairs(names) do
  local data = redis.call('HGET', KEYS[1], name)
  if data then
    found[#found + 1] = name
    found[#found + 1] = data
    found[#found + 1] = redis.call('HGET', KEYS[2], name) or '0'
  end
end
return found
"""
_DELETE: Final = """
if ARGV[1] == '' then return redis.call('DEL', unpack(KEYS)) end
return drop(ARGV[1])
"""
_CLAIM: Final = """
local found = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now, 'LIMIT', 0, ARGV[2])) do
  redis.call('ZADD', KEYS[5], now + tonumber(ARGV[3]), name)
  redis.call('HSET', KEYS[3], name, ARGV[1])
  found[#found + 1] = name
  found[#found + 1] = redis.call('HGET', KEYS[1], name)
end
return found
"""
_LEASE: Final = """
for index = 3, #ARGV do
  local name = ARGV[index]
  if redis.call('HGET', KEYS[3], name) == ARGV[1] and redis.call('ZSCORE', KEYS[5], name) then
    redis.call('ZADD', KEYS[5], now + tonumber(ARGV[2]), name)
  end
end
"""
_FINISH: Final = """
if redis.call('ZREM', KEYS[5], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('HDEL', KEYS[3], ARGV[1])
for index = 2, 3 do redis.call('PEXPIREAT', KEYS[index], redis.call('PEXPIRETIME', KEYS[1])) end
return 1
"""
_COUNT: Final = "return {redis.call('ZCARD', KEYS[5]), redis.call('HVALS', KEYS[2])}"


class RedisRows:
    """Implements ``RowStore`` over the server of a store."""

    _server: AsyncRedisServer
    _prefix: str

    async def put_rows(
        self, group: str, rows: Mapping[str, bytes], ttl_s: float, *, keeps_earlier: bool = False
    ) -> None:
        """Implement ``RowStore.put_rows``."""
        await self._rows(_PUT, group, ttl_s, int(keeps_earlier), *(each for pair in rows.items() for each in pair))

    async def replace_row(self, group: str, name: str, old: bytes, new: bytes) -> bool:
        """Implement ``RowStore.replace_row``."""
        return bool(await self._rows(_REPLACE, group, name, old, new))

    async def get_row(self, group: str, name: str) -> Row | None:
        """Implement ``RowStore.get_row``."""
        rows = _read(await self._rows(_LIST, group, "one", name, 1))
        return rows[0] if rows else None

    async def list_rows(self, group: str, *, after: str = "", limit: int = 100, newest: bool = False) -> Sequence[Row]:
        """Implement ``RowStore.list_rows``."""
        return _read(await self._rows(_LIST, group, "newest" if newest else "oldest", after, limit))

    async def delete_rows(self, group: str, name: str | None = None) -> bool:
        """Implement ``RowStore.delete_rows``."""
        return bool(await self._rows(_DELETE, group, name or ""))

    async def claim_rows(self, group: str, holder: str, limit: int, lease_s: float) -> Sequence[Row]:
        """Implement ``RowStore.claim_rows``."""
        found = await self._rows(_CLAIM, group, holder, limit, lease_s)
        return [Row(name.decode(), data) for name, data in zip(found[::2], found[1::2], strict=True)]

    async def lease_rows(self, group: str, names: Sequence[str], holder: str, lease_s: float) -> None:
        """Implement ``RowStore.lease_rows``."""
        await self._rows(_LEASE, group, holder, lease_s, *names)

    async def finish_row(self, group: str, name: str, state: int, data: bytes) -> bool:
        """Implement ``RowStore.finish_row``."""
        return bool(await self._rows(_FINISH, group, name, state, data))

    async def count_rows(self, group: str) -> Mapping[int, int]:
        """Implement ``RowStore.count_rows``."""
        count, states = await self._rows(_COUNT, group)
        found = collections.Counter(map(int, states))
        return {**found, **({0: count} if count else {})}

    async def _rows(self, script: str, group: str, *values: Any) -> Any:
        """Run a script on the keys of a group."""
        # The braces keep the keys of a group on one node of a cluster.
        places = ("data", "states", "holders", "expiry", "leases", "names")
        keys = [f"{self._prefix}:{{rows:{group}}}:{place}" for place in places]
        async with self._server.errors():
            return await self._server.client.register_script(_START + script)(keys=keys, args=values)


def _read(found: Sequence[bytes]) -> list[Row]:
    rows = zip(found[::3], found[1::3], found[2::3], strict=True)
    return [Row(name.decode(), data, int(state)) for name, data, state in rows]

"""The Lua scripts of the Redis store. Redis executes each of them atomically.

Keys of a caller, after its prefix: ``rows`` (id to row), ``times`` (ids by time), ``i:SHA`` (plans for a request by time),
``p:PART`` (requests with a hash by time), ``sizes`` (request to number of hashes), ``values`` (learnable values by time), ``intents``
(the requests).

A row is JSON: ``r`` is the record, ``s`` its request, ``m`` its member of ``i:SHA``, ``v`` its members of ``values``, ``p`` its
hashes, ``t`` its tools.
"""

from __future__ import annotations

SEPARATOR = "\x1f"
"""Between the id of a plan, its model and its tools in a member of ``i:SHA``."""

_DELETE = """
local function delete(base, id)
  local json = redis.call('HGET', base..'rows', id)
  redis.call('ZREM', base..'times', id)
  if not json then return 0 end
  local row = cjson.decode(json)
  redis.call('HDEL', base..'rows', id)
  for _, value in ipairs(row.v) do redis.call('ZREM', base..'values', value) end
  if row.m ~= '' then
    redis.call('ZREM', base..'i:'..row.s, row.m)
    if redis.call('EXISTS', base..'i:'..row.s) == 0 then
      for _, part in ipairs(row.p) do redis.call('ZREM', base..'p:'..part, row.s) end
      redis.call('HDEL', base..'sizes', row.s)
      redis.call('SREM', base..'intents', row.s)
    end
  end
  return 1
end
local function expire(base, oldest)
  local count = 0
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base..'times', '-inf', '('..oldest, 'LIMIT', 0, 1000)) do
    count = count + delete(base, id)
  end
  return count
end
"""

ADD = (
    _DELETE
    + """
local base, oldest, ttl = ARGV[1], ARGV[2], ARGV[3]
expire(base, oldest)
for place = 4, #ARGV, 3 do
  local id, time, json = ARGV[place], ARGV[place + 1], ARGV[place + 2]
  if redis.call('HSETNX', base..'rows', id, json) == 1 then
    local row = cjson.decode(json)
    redis.call('ZADD', base..'times', time, id)
    for _, value in ipairs(row.v) do redis.call('ZADD', base..'values', time, value) end
    if row.m ~= '' then
      redis.call('ZADD', base..'i:'..row.s, time, row.m)
      redis.call('EXPIRE', base..'i:'..row.s, ttl)
      redis.call('SADD', base..'intents', row.s)
      if #row.p > 0 then redis.call('HSET', base..'sizes', row.s, #row.p) end
      for _, part in ipairs(row.p) do
        redis.call('ZADD', base..'p:'..part, 'GT', time, row.s)
        redis.call('EXPIRE', base..'p:'..part, ttl)
      end
    end
  end
end
for _, name in ipairs({'rows', 'times', 'values', 'sizes', 'intents'}) do redis.call('EXPIRE', base..name, ttl) end
return 1
"""
)
"""Arguments: prefix, time of the oldest valid record, seconds to live; then id, time and row of each record."""

_SIMILAR = """
local function similar(base, sha, oldest, least, limit, first)
  local counts, found = {}, {}
  for place = first, #ARGV do
    local key = base..'p:'..ARGV[place]
    for _, other in ipairs(redis.call('ZREVRANGEBYSCORE', key, '+inf', oldest, 'LIMIT', 0, %d)) do
      counts[other] = (counts[other] or 0) + 1
    end
  end
  local size = #ARGV - first + 1
  for other, count in pairs(counts) do
    if other ~= sha then
      local near = count / (tonumber(redis.call('HGET', base..'sizes', other) or 0) + size - count)
      if near >= least then table.insert(found, {other, near}) end
    end
  end
  table.sort(found, function(a, b) if a[2] ~= b[2] then return a[2] > b[2] end return a[1] < b[1] end)
  while #found > limit do table.remove(found) end
  return found
end
"""

WEIGHTS = (
    _SIMILAR
    + """
local base, sha, oldest, now, half, least, limit = unpack(ARGV, 1, 7)
local intents = similar(base, sha, oldest, tonumber(least), tonumber(limit), 8)
table.insert(intents, 1, {sha, 1})
local weights = {}
for _, intent in ipairs(intents) do
  local plans = redis.call('ZREVRANGEBYSCORE', base..'i:'..intent[1], '+inf', oldest, 'WITHSCORES', 'LIMIT', 0, %d)
  for place = 1, #plans, 2 do
    local weight = intent[2] * intent[2] * 2 ^ ((tonumber(plans[place + 1]) - tonumber(now)) / tonumber(half))
    local index = 0
    for tool in string.gmatch(plans[place], '[^\\31]+') do
      index = index + 1
      if index > 2 then weights[tool] = (weights[tool] or 0) + weight end
    end
  end
end
local found = {}
for tool, weight in pairs(weights) do table.insert(found, {tool, string.format('%%.17g', weight)}) end
return found
"""
)
"""Arguments: prefix, request, time of the oldest valid record, now, half-life, least similarity, limit; then the hashes."""

SIMILAR = (
    _SIMILAR
    + """
local base, sha, oldest, least, limit = unpack(ARGV, 1, 5)
local found = {}
for _, intent in ipairs(similar(base, sha, oldest, tonumber(least), tonumber(limit), 6)) do
  table.insert(found, {intent[1], string.format('%%.17g', intent[2])})
end
return found
"""
)

GROUPS = """
local base, oldest, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local groups = {}
local function describe(sha, near)
  local key = base..'i:'..sha
  local count = redis.call('ZCOUNT', key, oldest, '+inf')
  if count > 0 then
    local time = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]
    table.insert(groups, {sha, count, time, near})
  end
end
if #ARGV > 3 then
  for place = 4, #ARGV, 2 do describe(ARGV[place], ARGV[place + 1]) end
else
  for _, sha in ipairs(redis.call('SMEMBERS', base..'intents')) do describe(sha, '') end
  table.sort(groups, function(a, b)
    if a[2] ~= b[2] then return a[2] > b[2] end
    if a[3] ~= b[3] then return tonumber(a[3]) > tonumber(b[3]) end
    return a[1] < b[1]
  end)
end
while #groups > limit do table.remove(groups) end
for _, group in ipairs(groups) do
  local tools, models = {}, {}
  for _, plan in ipairs(redis.call('ZRANGEBYSCORE', base..'i:'..group[1], oldest, '+inf')) do
    local index, seen = 0, {}
    for name in string.gmatch(plan, '[^\\31]+') do
      index = index + 1
      if index == 2 then models[name] = (models[name] or 0) + 1 end
      if index > 2 and not seen[name] then
        seen[name] = true
        tools[name] = (tools[name] or 0) + 1
      end
    end
  end
  for place, counts in ipairs({tools, models}) do
    local flat = {}
    for name, count in pairs(counts) do table.insert(flat, name) table.insert(flat, count) end
    group[4 + place] = flat
  end
end
return groups
"""
"""Arguments: prefix, time of the oldest valid record, limit; then each request and its similarity, or nothing for all of them.

It returns request, plans, time of the newest, similarity, tools and models of each group; the last two as names and counts.
"""

VALUES = """
local base, oldest, limit = unpack(ARGV)
local counts, found = {}, {}
for _, json in ipairs(redis.call('ZREVRANGEBYSCORE', base..'values', '+inf', oldest, 'LIMIT', 0, limit)) do
  local value = cjson.decode(json)
  local key = cjson.encode({value[3], value[4], value[5]})
  if not counts[key] then counts[key] = {value[3], value[4], value[5], 0} end
  counts[key][4] = counts[key][4] + 1
end
for _, each in pairs(counts) do table.insert(found, each) end
return found
"""

FORGET = (
    _DELETE
    + """
local base, sha, tool, before = unpack(ARGV)
local count = 0
local last = before == '' and '+inf' or '('..before
for _, id in ipairs(redis.call('ZRANGEBYSCORE', base..'times', '-inf', last)) do
  local json = redis.call('HGET', base..'rows', id)
  local row = json and cjson.decode(json)
  local is_chosen = not row or ((sha == '' or row.s == sha) and tool == '')
  if row and tool ~= '' and (sha == '' or row.s == sha) then
    for _, each in ipairs(row.t) do is_chosen = is_chosen or each == tool end
  end
  if is_chosen then count = count + delete(base, id) end
end
return count
"""
)

EXPIRE = _DELETE + "return expire(ARGV[1], ARGV[2])"

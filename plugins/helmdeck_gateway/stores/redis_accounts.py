"""Keys and accounts in Redis. Each step is one script, which no other command interrupts.

The keys of an account are KEYS[1] (a hash: calls under way, number of calls), KEYS[2] (a hash of calls: ``held:day:month:is_open``),
KEYS[3] and KEYS[4] (sorted sets of calls by the end of their lease: under way, lost), KEYS[5] (a hash of the last starts) and
KEYS[6] (a hash of amounts: ``period:name``). Amounts are integers below 2^53, which the numbers of Lua hold exactly.
"""

from __future__ import annotations

from typing import Final

_COMMON: Final = """
local function int(value) return string.format('%.0f', value) end
local function number(value) return tonumber(value) or 0 end
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1e6
end
local function add(day, month, name, amount)
  if amount ~= 0 then
    redis.call('HINCRBY', KEYS[6], day .. ':' .. name, int(amount))
    redis.call('HINCRBY', KEYS[6], month .. ':' .. name, int(amount))
  end
end
local function amount(period, name) return number(redis.call('HGET', KEYS[6], period .. ':' .. name)) end
local function call_of(id)
  local row = redis.call('HGET', KEYS[2], id)
  if not row then return nil end
  local held, day, month, open = string.match(row, '^(%d+):([%d-]+):([%d-]+):(%d)$')
  return {held = tonumber(held), day = day, month = month, open = open == '1'}
end
local function keep(id, call)
  redis.call('HSET', KEYS[2], id, int(call.held) .. ':' .. call.day .. ':' .. call.month .. ':' .. (call.open and '1' or '0'))
end
local function sweep(now)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now)) do
    local call = call_of(id)
    add(call.day, call.month, 'spent', call.held)
    add(call.day, call.month, 'held', -call.held)
    call.open = false
    keep(id, call)
    redis.call('ZADD', KEYS[4], redis.call('ZSCORE', KEYS[3], id), id)
    redis.call('ZREM', KEYS[3], id)
    redis.call('HINCRBY', KEYS[1], 'under_way', -1)
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now - 86400)) do
    redis.call('HDEL', KEYS[2], id)
    redis.call('ZREM', KEYS[4], id)
  end
end
local function days_since(year, month, day)
  -- Days since 1970-01-01 of the Gregorian calendar.
  if month <= 2 then year = year - 1 end
  local era = math.floor(year / 400)
  local of_era = year - era * 400
  local of_year = math.floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5) + day - 1
  return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end
local function date(now)
  local days = math.floor(now / 86400) + 719468
  local era = math.floor(days / 146097)
  local of_era = days - era * 146097
  local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local place = math.floor((5 * of_year + 2) / 153)
  local month = place + (place < 10 and 3 or -9)
  year = year + era * 400 + (month <= 2 and 1 or 0)
  return year, month, of_year - math.floor((153 * place + 2) / 5) + 1
end
"""

# ARGV: call, now, lease, held, rate, window, concurrency, day limit, month limit; an empty string is none.
ADMIT: Final = (
    _COMMON
    + """
local now = clock(ARGV[2])
sweep(now)
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return {'', '0', '0', '0'} end
local y, m, d = date(now)
local month = string.format('%04d-%02d', y, m)
local day = string.format('%s-%02d', month, d)
local function refuse(limit, retry, spent, held)
  add(day, month, 'refused', 1)
  return {limit, string.format('%.6f', retry), int(spent), int(held)}
end
local next_month = (m == 12) and days_since(y + 1, 1, 1) or days_since(y, m + 1, 1)
local periods = {
  {'spend_per_month', ARGV[9], month, next_month * 86400 - now},
  {'spend_per_day', ARGV[8], day, (math.floor(now / 86400) + 1) * 86400 - now},
}
for _, each in ipairs(periods) do
  if each[2] ~= '' then
    local most, spent, held = tonumber(each[2]), amount(each[3], 'spent'), amount(each[3], 'held')
    if spent + held >= most then
      return refuse(each[1], spent >= most and each[4] or math.min(1, each[4]), spent, held)
    end
  end
end
if ARGV[7] ~= '' and number(redis.call('HGET', KEYS[1], 'under_way')) >= tonumber(ARGV[7]) then
  return refuse('concurrency', 1, 0, 0)
end
if ARGV[5] ~= '' then
  local place = number(redis.call('HGET', KEYS[1], 'count')) % tonumber(ARGV[5])
  local start = tonumber(redis.call('HGET', KEYS[5], int(place)) or '-1')
  if start > now - tonumber(ARGV[6]) then return refuse('rate', start + tonumber(ARGV[6]) - now, 0, 0) end
  redis.call('HSET', KEYS[5], int(place), string.format('%.6f', now))
  redis.call('EXPIRE', KEYS[5], math.ceil(tonumber(ARGV[6])) + 1)
end
redis.call('HINCRBY', KEYS[1], 'count', 1)
redis.call('HINCRBY', KEYS[1], 'under_way', 1)
keep(ARGV[1], {held = tonumber(ARGV[4]), day = day, month = month, open = true})
redis.call('ZADD', KEYS[3], now + tonumber(ARGV[3]), ARGV[1])
add(day, month, 'held', tonumber(ARGV[4]))
add(day, month, 'requests', 1)
return {'', '0', '0', '0'}
"""
)

# ARGV: now, lease, then a call and its least amount, and so on.
RENEW: Final = (
    _COMMON
    + """
local now = clock(ARGV[1])
sweep(now)
for place = 3, #ARGV, 2 do
  local call = call_of(ARGV[place])
  if call then
    local more = math.max(0, tonumber(ARGV[place + 1]) - call.held)
    add(call.day, call.month, call.open and 'held' or 'spent', more)
    call.held = call.held + more
    keep(ARGV[place], call)
    if call.open then redis.call('ZADD', KEYS[3], now + tonumber(ARGV[2]), ARGV[place]) end
  end
end
"""
)

# ARGV: call, cost, unpriced.
SETTLE: Final = (
    _COMMON
    + """
local call = call_of(ARGV[1])
if not call then return 0 end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
if call.open then
  add(call.day, call.month, 'spent', tonumber(ARGV[2]))
  add(call.day, call.month, 'held', -call.held)
  redis.call('HINCRBY', KEYS[1], 'under_way', -1)
else
  add(call.day, call.month, 'spent', tonumber(ARGV[2]) - call.held)
end
add(call.day, call.month, 'unpriced', tonumber(ARGV[3]))
return 1
"""
)

# ARGV: now.
USAGE: Final = (
    _COMMON
    + """
local now = clock(ARGV[1])
sweep(now)
local y, m, d = date(now)
local month = string.format('%04d-%02d', y, m)
local found = {int(number(redis.call('HGET', KEYS[1], 'under_way')))}
for _, period in ipairs({string.format('%s-%02d', month, d), month}) do
  for _, name in ipairs({'spent', 'held', 'requests', 'refused', 'unpriced'}) do
    found[#found + 1] = int(amount(period, name))
  end
end
return found
"""
)

# KEYS: records by name, names by digest. ARGV: name, version, digest, record.
SAVE_KEY: Final = """
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local before = stored and cjson.decode(stored) or nil
if (before and before.version or 0) ~= tonumber(ARGV[2]) - 1 then return 0 end
if before then redis.call('HDEL', KEYS[2], before.digest) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4])
redis.call('HSET', KEYS[2], ARGV[3], ARGV[1])
return 1
"""

# KEYS: records by name, names by digest. ARGV: digest.
FIND_KEY: Final = """
local name = redis.call('HGET', KEYS[2], ARGV[1])
return name and redis.call('HGET', KEYS[1], name) or false
"""

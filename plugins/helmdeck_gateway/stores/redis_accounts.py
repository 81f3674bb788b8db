"""Accounts in Redis. Each step is one script, which no other command interrupts.

The keys of an account are KEYS[1] (a hash: calls under way, number of calls, tokens that counted at a time), KEYS[2] (a hash of
calls: ``held:day:month:is_open:tokens``), KEYS[3] and KEYS[4] (sorted sets of calls by the end of their lease: under way, lost),
KEYS[5] (a hash of the last starts) and KEYS[6] (a hash of amounts: ``period:name``). The next account of a call has the next six.
Amounts are integers below 2^53, which the numbers of Lua hold exactly.
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
local ACCOUNT, CALLS, OPEN, LOST, STARTS, SPEND
local function select_account(place)
  local first = place * 6
  ACCOUNT, CALLS, OPEN = KEYS[first + 1], KEYS[first + 2], KEYS[first + 3]
  LOST, STARTS, SPEND = KEYS[first + 4], KEYS[first + 5], KEYS[first + 6]
end
local LAST = #KEYS / 6 - 1
local function add(day, month, name, amount)
  if amount ~= 0 then
    redis.call('HINCRBY', SPEND, day .. ':' .. name, int(amount))
    redis.call('HINCRBY', SPEND, month .. ':' .. name, int(amount))
  end
end
local function amount(period, name) return number(redis.call('HGET', SPEND, period .. ':' .. name)) end
local function call_of(id)
  local row = redis.call('HGET', CALLS, id)
  if not row then return nil end
  local held, day, month, open, tokens = string.match(row, '^(%d+):([%d-]+):([%d-]+):(%d):?(%d*)$')
  return {held = tonumber(held), day = day, month = month, open = open == '1', tokens = number(tokens)}
end
local function keep(id, call)
  local open = call.open and '1' or '0'
  redis.call('HSET', CALLS, id, table.concat({int(call.held), call.day, call.month, open, int(call.tokens)}, ':'))
end
local function float(name) return number(redis.call('HGET', ACCOUNT, name)) end
local function counted(limit, now)
  return math.max(0, float('tokens') - (now - float('tokens_s')) * limit / 60)
end
local function count(tokens)
  redis.call('HSET', ACCOUNT, 'tokens', string.format('%.17g', tokens))
end
local function sweep(now)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', OPEN, '-inf', now)) do
    local call = call_of(id)
    add(call.day, call.month, 'spent', call.held)
    add(call.day, call.month, 'held', -call.held)
    call.open = false
    keep(id, call)
    redis.call('ZADD', LOST, redis.call('ZSCORE', OPEN, id), id)
    redis.call('ZREM', OPEN, id)
    redis.call('HINCRBY', ACCOUNT, 'under_way', -1)
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', LOST, '-inf', now - 86400)) do
    redis.call('HDEL', CALLS, id)
    redis.call('ZREM', LOST, id)
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

# ARGV: call, now, lease, held, held tokens, and for each account rate, window, concurrency, day limit, month limit and token
# limit; an empty string is none.
ADMIT: Final = (
    _COMMON
    + """
local now = clock(ARGV[2])
for place = 0, LAST do
  select_account(place)
  sweep(now)
  if redis.call('HEXISTS', CALLS, ARGV[1]) == 1 then return {'', '0', '0', '0', '0', ''} end
end
local y, m, d = date(now)
local month = string.format('%04d-%02d', y, m)
local day = string.format('%s-%02d', month, d)
local function refuse(limit, place, retry, spent, held)
  for each = 0, LAST do
    select_account(each)
    add(day, month, 'refused', 1)
  end
  return {limit, int(place), string.format('%.6f', retry), int(spent), int(held), ''}
end
local next_month = (m == 12) and days_since(y + 1, 1, 1) or days_since(y, m + 1, 1)
local left = nil
local starts = {}
for place = 0, LAST do
  select_account(place)
  local first = 6 + place * 6
  local periods = {
    {'spend_per_month', ARGV[first + 4], month, next_month * 86400 - now},
    {'spend_per_day', ARGV[first + 3], day, (math.floor(now / 86400) + 1) * 86400 - now},
  }
  for _, each in ipairs(periods) do
    if each[2] ~= '' then
      local most, spent, held = tonumber(each[2]), amount(each[3], 'spent'), amount(each[3], 'held')
      if spent + held >= most then
        return refuse(each[1], place, spent >= most and each[4] or math.min(1, each[4]), spent, held)
      end
      left = math.min(left or most, most - spent - held)
    end
  end
  if ARGV[first + 2] ~= '' and float('under_way') >= tonumber(ARGV[first + 2]) then
    return refuse('concurrency', place, 1, 0, 0)
  end
  if ARGV[first + 5] ~= '' then
    local limit = tonumber(ARGV[first + 5])
    local used = counted(limit, now)
    if used >= limit then return refuse('tokens_per_minute', place, (used - limit) * 60 / limit, 0, 0) end
  end
  if ARGV[first] ~= '' then
    local start = float('count') % tonumber(ARGV[first])
    local start_s = tonumber(redis.call('HGET', STARTS, int(start)) or '-1')
    if start_s > now - tonumber(ARGV[first + 1]) then
      return refuse('rate', place, start_s + tonumber(ARGV[first + 1]) - now, 0, 0)
    end
    starts[place] = start
  end
end
for place = 0, LAST do
  select_account(place)
  local first = 6 + place * 6
  if starts[place] then
    redis.call('HSET', STARTS, int(starts[place]), string.format('%.6f', now))
    redis.call('EXPIRE', STARTS, math.ceil(tonumber(ARGV[first + 1])) + 1)
  end
  local tokens = 0
  if ARGV[first + 5] ~= '' then
    tokens = tonumber(ARGV[5])
    count(counted(tonumber(ARGV[first + 5]), now) + tokens)
    redis.call('HSET', ACCOUNT, 'tokens_s', string.format('%.17g', now))
  end
  redis.call('HINCRBY', ACCOUNT, 'count', 1)
  redis.call('HINCRBY', ACCOUNT, 'under_way', 1)
  keep(ARGV[1], {held = tonumber(ARGV[4]), day = day, month = month, open = true, tokens = tokens})
  redis.call('ZADD', OPEN, now + tonumber(ARGV[3]), ARGV[1])
  add(day, month, 'held', tonumber(ARGV[4]))
  add(day, month, 'requests', 1)
end
return {'', '0', '0', '0', '0', left and int(left) or ''}
"""
)

# ARGV: now, lease, then a call and its least amount and tokens, and so on.
RENEW: Final = (
    _COMMON
    + """
local now = clock(ARGV[1])
for place = 0, LAST do
  select_account(place)
  sweep(now)
  for each = 3, #ARGV, 3 do
    local call = call_of(ARGV[each])
    if call then
      local more = math.max(0, tonumber(ARGV[each + 1]) - call.held)
      local more_tokens = call.tokens == 0 and 0 or math.max(0, tonumber(ARGV[each + 2]) - call.tokens)
      add(call.day, call.month, call.open and 'held' or 'spent', more)
      if more_tokens > 0 then count(float('tokens') + more_tokens) end
      call.held = call.held + more
      call.tokens = call.tokens + more_tokens
      keep(ARGV[each], call)
      if call.open then redis.call('ZADD', OPEN, now + tonumber(ARGV[2]), ARGV[each]) end
    end
  end
end
"""
)

# ARGV: call, cost, tokens, unpriced.
SETTLE: Final = (
    _COMMON
    + """
local found = 0
for place = 0, LAST do
  select_account(place)
  local call = call_of(ARGV[1])
  if call then
    found = 1
    redis.call('HDEL', CALLS, ARGV[1])
    redis.call('ZREM', OPEN, ARGV[1])
    redis.call('ZREM', LOST, ARGV[1])
    if call.open then
      add(call.day, call.month, 'spent', tonumber(ARGV[2]))
      add(call.day, call.month, 'held', -call.held)
      redis.call('HINCRBY', ACCOUNT, 'under_way', -1)
    else
      add(call.day, call.month, 'spent', tonumber(ARGV[2]) - call.held)
    end
    add(call.day, call.month, 'unpriced', tonumber(ARGV[4]))
    if call.tokens > 0 then count(float('tokens') + tonumber(ARGV[3]) - call.tokens) end
  end
end
return found
"""
)

# ARGV: now.
USAGE: Final = (
    _COMMON
    + """
local now = clock(ARGV[1])
select_account(0)
sweep(now)
local y, m, d = date(now)
local month = string.format('%04d-%02d', y, m)
local function exact(value) return string.format('%.17g', value) end
local found = {exact(float('tokens')), exact(float('tokens_s')), exact(now), int(float('under_way'))}
for _, period in ipairs({string.format('%s-%02d', month, d), month}) do
  for _, name in ipairs({'spent', 'held', 'requests', 'refused', 'unpriced'}) do
    found[#found + 1] = int(amount(period, name))
  end
end
return found
"""
)

# ARGV: the time or an empty string, and the periods. The result is empty for an account that was used in none of them.
SPEND: Final = (
    _COMMON
    + """
select_account(0)
sweep(clock(ARGV[1]))
if redis.call('EXISTS', SPEND) == 0 then return {} end
local sums, is_used = {}, false
for place, name in ipairs({'spent', 'held', 'requests', 'refused', 'unpriced'}) do
  sums[place] = 0
  for number = 2, #ARGV do
    local found = redis.call('HGET', SPEND, ARGV[number] .. ':' .. name)
    is_used = is_used or found ~= false
    sums[place] = sums[place] + (tonumber(found or 0) or 0)
  end
end
if not is_used then return {} end
for place, sum in ipairs(sums) do sums[place] = int(sum) end
return sums
"""
)

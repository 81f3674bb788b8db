"""Keys, teams and the audit log in Redis. Each step is one script, which no other command interrupts."""

from __future__ import annotations

from typing import Final

# KEYS: records by name, names by digest, the audit log. ARGV: name, version, record, number and entry of the audit log or empty
# strings, digest, old digest or an empty string.
SAVE_KEY: Final = """
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local before = stored and cjson.decode(stored) or nil
if (before and before.version or 0) ~= tonumber(ARGV[2]) - 1 then return 0 end
if ARGV[4] ~= '' then
  if redis.call('LLEN', KEYS[3]) ~= tonumber(ARGV[4]) - 1 then return 0 end
  redis.call('RPUSH', KEYS[3], ARGV[5])
end
if before then
  redis.call('HDEL', KEYS[2], before.digest)
  if before.old_digest and before.old_digest ~= '' then redis.call('HDEL', KEYS[2], before.old_digest) end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('HSET', KEYS[2], ARGV[6], ARGV[1])
if ARGV[7] ~= '' then redis.call('HSET', KEYS[2], ARGV[7], ARGV[1]) end
return 1
"""

# KEYS: records by name, names by digest. ARGV: digest.
FIND_KEY: Final = """
local name = redis.call('HGET', KEYS[2], ARGV[1])
return name and redis.call('HGET', KEYS[1], name) or false
"""

# KEYS: records by name, the audit log. ARGV: name, version, record, number and entry of the audit log or empty strings.
SAVE_TEAM: Final = """
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if (stored and cjson.decode(stored).version or 0) ~= tonumber(ARGV[2]) - 1 then return 0 end
if ARGV[4] ~= '' then
  if redis.call('LLEN', KEYS[2]) ~= tonumber(ARGV[4]) - 1 then return 0 end
  redis.call('RPUSH', KEYS[2], ARGV[5])
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
"""

# KEYS: records by name. ARGV: name, maximum.
FIND_TEAMS: Final = """
local found, name = {}, ARGV[1]
while #found < tonumber(ARGV[2]) do
  local text = redis.call('HGET', KEYS[1], name)
  if not text then break end
  found[#found + 1] = text
  name = cjson.decode(text).parent
end
return found
"""

# KEYS: the audit log. ARGV: number, entry.
ADD_AUDIT: Final = """
if redis.call('LLEN', KEYS[1]) ~= tonumber(ARGV[1]) - 1 then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[2])
return 1
"""

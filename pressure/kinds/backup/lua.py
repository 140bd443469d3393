"""The scripts of a queue with an in-progress list.

Rules:
    - ``KEYS`` are the list of what waits, the list of what is in progress, the claims.
    - An item is added where it goes before it is taken from where it was: a script that fails half-way keeps
    what
      it has done, and then an item is there twice, and never not at all.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.lua import Script

_BEGINNING: Final = b"""
local pending, processing, claims = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function put_back(item)
  redis.call('RPUSH', pending, item)
  redis.call('LREM', processing, 1, item)
end
"""

#: The next item, with the time of its claim; nil if there is none.
CLAIM: Final = Script(
    _BEGINNING
    + b"""
redis.call('ZCARD', claims)
local item = redis.call('LMOVE', pending, processing, 'RIGHT', 'LEFT')
if item then redis.call('ZADD', claims, now, item) end
return item
"""
)

#: ``ARGV`` is the age in milliseconds from which a claim is stale. The items that went back, the first last.
REAP: Final = Script(
    _BEGINNING
    + b"""
local stale, known, back = tonumber(ARGV[1]), {}, {}
redis.call('LLEN', pending)
for _, item in ipairs(redis.call('LRANGE', processing, 0, -1)) do
  if known[item] == nil then
    local since = redis.call('ZSCORE', claims, item)
    if not since then redis.call('ZADD', claims, now, item) end
    known[item] = now - (tonumber(since) or now) >= stale
  end
  if known[item] then
    put_back(item)
    back[#back + 1] = item
  end
end
for _, item in ipairs(redis.call('ZRANGE', claims, 0, -1)) do
  if not known[item] then
    if known[item] == nil then redis.call('ZREM', claims, item) end
  else
    redis.call('ZREM', claims, item)
  end
end
return back
"""
)

#: ``ARGV`` is an item; whether it was in progress, and went back.
REQUEUE: Final = Script(
    _BEGINNING
    + b"""
if not redis.call('LPOS', processing, ARGV[1]) then return 0 end
put_back(ARGV[1])
redis.call('ZREM', claims, ARGV[1])
return 1
"""
)

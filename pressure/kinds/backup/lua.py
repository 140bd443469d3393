"""The scripts of a queue with an in-progress list.

Rules:
    - ``KEYS`` are the list of what waits, the list of what is in progress, the claims.
    - An item is added where it goes before it is taken from where it was: a script that fails half-way keeps
      what it has done, and then an item is there twice, and never not at all.
    - What is in progress may be too much for one look. An item that goes back in one of several looks keeps a
      claim until the last of them, of time 0, so that an equal item that comes later is known to be stale.
      Claims without an item are looked for only where one look sees everything: else each of them would be
      looked for in the whole list.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.lua import Script
from pressure.protocol.sizes import MOST_BYTES

_BEGINNING: Final = b"""
local pending, processing, claims = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""

#: The next item, with the time of its claim; nil if there is none. Where the time cannot be written, the item
#: is claimed all the same, and whoever reaps gives it one.
CLAIM: Final = Script(
    _BEGINNING
    + b"""
redis.call('ZCARD', claims)
local item = redis.call('LMOVE', pending, processing, 'RIGHT', 'LEFT')
if item then redis.pcall('ZADD', claims, now, item) end
return item
"""
)

#: Most items that are looked at in one step.
MOST_ITEMS: Final = 10_000

#: ``ARGV`` are the age in milliseconds from which a claim is stale, and how many items are left to look at;
#: -1 for all. The items that went back, the first last; and how many are left, -1 if none is. No more is
#: looked at at once than fits (see ``protocol.sizes``).
#:
#: Each item is taken from the left end, where the last one claimed is, and goes back, or to the right end:
#: when all were looked at they are in their order again. So each costs the same, wherever it is in the list.
REAP: Final = Script(
    _BEGINNING
    + b"local most_bytes = %d\nlocal most_items = %d\n" % (MOST_BYTES, MOST_ITEMS)
    + b"""
local stale, left, known, back = tonumber(ARGV[1]), tonumber(ARGV[2]), {}, {}
redis.call('LLEN', pending)
local whole = left < 0
if whole then left = redis.call('LLEN', processing) end

local bytes, looked_at = 0, 0
while left > 0 and bytes <= most_bytes and looked_at < most_items do
  local item = redis.call('LINDEX', processing, 0)
  if not item then left = 0 break end
  if known[item] == nil then
    local since = redis.call('ZSCORE', claims, item)
    if not since then redis.call('ZADD', claims, now, item) end
    known[item] = now - (tonumber(since) or now) >= stale
  end
  if known[item] then
    redis.call('RPUSH', pending, item)
    redis.call('LPOP', processing)
    back[#back + 1] = item
  else
    redis.call('LMOVE', processing, processing, 'LEFT', 'RIGHT')
  end
  left, bytes, looked_at = left - 1, bytes + #item, looked_at + 1
end

if whole and left == 0 then
  local at = 0
  while true do
    local some = redis.call('ZRANGE', claims, at, at + 63)
    if #some == 0 then return {back, -1} end
    for _, item in ipairs(some) do
      if known[item] == false then at = at + 1 else redis.call('ZREM', claims, item) end
    end
  end
end
for item, went_back in pairs(known) do
  if went_back then redis.call('ZADD', claims, 0, item) end
end
if left > 0 then return {back, left} end
while true do
  local first = redis.call('ZRANGE', claims, 0, 0, 'WITHSCORES')
  if #first == 0 or tonumber(first[2]) ~= 0 then return {back, -1} end
  redis.call('ZREM', claims, first[1])
end
"""
)

#: ``ARGV`` is an item; whether it was in progress, and went back.
REQUEUE: Final = Script(
    _BEGINNING
    + b"""
if not redis.call('LPOS', processing, ARGV[1]) then return 0 end
redis.call('RPUSH', pending, ARGV[1])
redis.call('LREM', processing, 1, ARGV[1])
redis.call('ZREM', claims, ARGV[1])
return 1
"""
)

"""The scripts of a circular buffer with item locks.

Rules:
    - ``KEYS`` is the list; the key of an item's lock is ``ARGV[1]``, what the locks' names begin with, and
    the item.
    - A lock is deleted or extended only while it holds our token.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.lua import Script

#: ``ARGV`` is the locks' beginning, a token, the time to live in milliseconds, and how many items to try; 0
#: for
#: as many as there are. The item that was locked, or nil.
CLAIM: Final = Script(
    b"""
local ring, locks, token, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local tries = tonumber(ARGV[4])
if tries == 0 then tries = redis.call('LLEN', ring) end
for _ = 1, tries do
  local item = redis.call('LMOVE', ring, ring, 'RIGHT', 'LEFT')
  if not item then return nil end
  if redis.call('SET', locks .. item, token, 'NX', 'PX', ttl) then return item end
end
return nil
"""
)

#: ``ARGV`` is the locks' beginning, a token, an item. Whether the lock was ours, and how many items were
#: removed.
COMPLETE: Final = Script(
    b"""
local lock = ARGV[1] .. ARGV[3]
local ours = redis.call('GET', lock) == ARGV[2]
local removed = redis.call('LREM', KEYS[1], 1, ARGV[3])
if ours then redis.call('DEL', lock) end
return {ours and 1 or 0, removed}
"""
)

#: The same arguments, and a time to live in milliseconds, or 0 to free the lock. Whether the lock was ours.
EXTEND: Final = Script(
    b"""
local lock = ARGV[1] .. ARGV[3]
if redis.call('GET', lock) ~= ARGV[2] then return 0 end
if ARGV[4] == '0' then return redis.call('DEL', lock) end
return redis.call('PEXPIRE', lock, ARGV[4])
"""
)

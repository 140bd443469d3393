"""The scripts of ring queues.

Rules:
    - ``KEYS[1]`` is the list. The key of a lock is the prefix of the locks (``ARGV[1]``) and the item.
    - Where memory is full, a script may write only if it has written before. So a claim begins with a write
      that changes nothing.
    - A lock is deleted or extended only while it holds our token.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.lua import Script

#: Locks an item. ``ARGV`` is the prefix of the locks, a token, the time to live in milliseconds, and how many
#: items to try; 0 for all. Returns the item, or nil.
CLAIM: Final = Script(
    b"""
local ring, locks, token, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local tries = tonumber(ARGV[4])
redis.call('RPOP', ring, 0)
if tries == 0 then tries = redis.call('LLEN', ring) end
for _ = 1, tries do
  local item = redis.call('LMOVE', ring, ring, 'RIGHT', 'LEFT')
  if not item then return nil end
  if redis.call('SET', locks .. item, token, 'NX', 'PX', ttl) then return item end
end
return nil
"""
)

#: Removes an item and its lock. ``ARGV`` is the prefix of the locks, a token, an item. Returns whether the
#: lock was ours, and how many items were removed.
COMPLETE: Final = Script(
    b"""
local lock = ARGV[1] .. ARGV[3]
local ours = redis.call('GET', lock) == ARGV[2]
local removed = redis.call('LREM', KEYS[1], 1, ARGV[3])
if ours then redis.call('DEL', lock) end
return {ours and 1 or 0, removed}
"""
)

#: Extends a lock. ``ARGV`` goes on with a time to live in milliseconds; 0 frees the lock. Returns whether the
#: lock was ours.
EXTEND: Final = Script(
    b"""
local lock = ARGV[1] .. ARGV[3]
if redis.call('GET', lock) ~= ARGV[2] then return 0 end
if ARGV[4] == '0' then return redis.call('DEL', lock) end
return redis.call('PEXPIRE', lock, ARGV[4])
"""
)

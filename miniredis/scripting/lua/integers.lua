-- Integers as bytes, for libraries. Small ones are converted here, because a call to Python takes longer.
--
-- Arguments: Python's functions (callbacks.py), and the sandbox.

local host, sandbox = ...
local char, byte = string.char, string.byte
local put_integer, get_integer, enough = host.put_integer, host.get_integer, sandbox.enough

local SMALL = 2 ^ 52 -- up to here, remainders are exact

-- The lowest `size` bytes of an integer.
local function put(value, size, big)
    if size > 4 or size == 3 or not (value > -SMALL and value < SMALL and value % 1 == 0) then
        return enough(put_integer(value, size, big))
    end
    local a = value % 256
    if size == 1 then return char(a) end
    value = (value - a) / 256
    local b = value % 256
    if size == 2 then return big and char(b, a) or char(a, b) end
    value = (value - b) / 256
    local c = value % 256
    local d = (value - c) / 256 % 256
    return big and char(d, c, b, a) or char(a, b, c, d)
end

-- The integer that bytes encode.
local function get(text, big, signed)
    local size = #text
    if size > 4 or size == 3 or size == 0 then return get_integer(text, big, signed) end
    local a, b, c, d = byte(text, 1, 4)
    local value = a
    if size == 2 then
        value = big and a * 256 + b or b * 256 + a
    elseif size == 4 then
        if not big then a, b, c, d = d, c, b, a end
        value = ((a * 256 + b) * 256 + c) * 256 + d
    end
    local range = 256 ^ size
    return signed and value >= range / 2 and value - range or value
end

return {put = put, get = get}

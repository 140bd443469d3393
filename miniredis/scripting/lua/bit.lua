-- The library `bit`: operations on 32 bits.

local host, sandbox = ...
local wrong_type = sandbox.wrong_type
local type, error, tonumber, select, format, frexp, floor = type, error, tonumber, select, string.format, math.frexp, math.floor
local host_and = host.band
local ALL, SIGN = 2 ^ 32, 2 ^ 31
local ROUNDING = 6755399441055744 -- 2^52 + 2^51: adding it leaves the integer in the low bits

local function bits(name, number, count, value)
    if type(value) == "number" and value >= -SIGN and value < ALL and value % 1 == 0 then return value % ALL end
    local converted = tonumber(value)
    if type(value) ~= "number" and (type(value) ~= "string" or not converted) then
        error(wrong_type(number, name, "number", count, value), 0)
    end
    local sum = converted + ROUNDING
    if sum ~= sum or sum - sum ~= 0 then return 0 end
    return (frexp(sum < 0 and -sum or sum) * 2 ^ 53) % ALL
end

local function signed(value)
    return value >= SIGN and value - ALL or value
end

local bit = {}

function bit.tobit(...)
    return signed(bits("tobit", 1, select("#", ...), (...)))
end

function bit.bnot(...)
    return signed(ALL - 1 - bits("bnot", 1, select("#", ...), (...)))
end

local function folded(name, combine)
    return function(...)
        local count = select("#", ...)
        local result = bits(name, 1, count, (...))
        for index = count, 2, -1 do
            result = combine(result, bits(name, index, count, (select(index, ...))))
        end
        return signed(result)
    end
end

bit.band = folded("band", host_and)
bit.bor = folded("bor", function(a, b) return a + b - host_and(a, b) end)
bit.bxor = folded("bxor", function(a, b) return a + b - 2 * host_and(a, b) end)

local function left(value, places) return value * 2 ^ places % ALL end
local function right(value, places) return floor(value / 2 ^ places) end

local function shifting(name, shift)
    return function(...)
        local count, value, places = select("#", ...), ...
        value = bits(name, 1, count, value)
        places = bits(name, 2, count, places) % 32
        return signed(shift(value, places))
    end
end

local function left_of_32(value, places)
    -- a product of more than 53 bits would lose the lowest ones
    return left(value % 2 ^ (32 - places), places)
end

local function rolled(value, places)
    return left_of_32(value, places) + (places > 0 and right(value, 32 - places) or 0)
end

bit.lshift = shifting("lshift", left_of_32)
bit.rshift = shifting("rshift", right)
bit.arshift = shifting("arshift", function(value, places)
    return floor(signed(value) / 2 ^ places) % ALL
end)
bit.rol = shifting("rol", rolled)
bit.ror = shifting("ror", function(value, places)
    return rolled(value, (32 - places) % 32)
end)

function bit.bswap(...)
    local value = bits("bswap", 1, select("#", ...), (...))
    local result = 0
    for _ = 1, 4 do
        result = result * 256 + value % 256
        value = floor(value / 256)
    end
    return signed(result)
end

function bit.tohex(...)
    local count, value, digits = select("#", ...), ...
    value = bits("tohex", 1, count, value)
    digits = count < 2 and 8 or signed(bits("tohex", 2, count, digits))
    local text = format(digits < 0 and "%08X" or "%08x", value)
    digits = digits < 0 and -digits or digits
    if digits >= 8 then return text end
    return (text:sub(9 - digits))
end

return sandbox.natives(bit)

-- The library `struct`: numbers and strings as bytes, in a given format.

local host, sandbox, integers = ...
local wrong_type, bad_argument, enough = sandbox.wrong_type, sandbox.bad_argument, sandbox.enough
local type, tonumber, tostring, select, error, unpack = type, tonumber, tostring, select, error, unpack
local concat, rep, find, sub, byte, floor = table.concat, string.rep, string.find, string.sub, string.byte, math.floor
local put_integer, get_integer, put_real, get_real, host_and =
    integers.put, integers.get, host.put_real, host.get_real, host.band

local INT_MAX = 2147483647
local MOST, MAX_ALIGN, LONG = 32, 8, 8
local FIXED = {b = 1, B = 1, h = 2, H = 2, l = LONG, L = LONG, T = LONG, f = 4, d = 8, x = 1}
local INTEGERS = {b = true, B = true, h = true, H = true, l = true, L = true, T = true, i = true, I = true}

local function reader(format)
    local zero = find(format, "%z")
    return {text = zero and sub(format, 1, zero - 1) or format, at = 1, big = false, align = 1}
end

local function number(state, default)
    local digits = state.text:match("^%d+", state.at)
    if not digits then return default end
    state.at = state.at + #digits
    local value = tonumber(digits)
    if value > INT_MAX then error("integral size overflow", 0) end
    return value
end

local function size_of(state, option)
    if FIXED[option] then return FIXED[option] end
    if option == "c" then return number(state, 1) end
    if option == "i" or option == "I" then
        local size = number(state, 4)
        if size > MOST then error("integral size " .. size .. " is larger than limit of " .. MOST, 0) end
        return size
    end
    return 0
end

local function padding(state, length, option, size)
    if size == 0 or option == "c" or state.align == 1 then return 0 end
    if size > state.align then size = state.align end
    return host_and(size - host_and(length, size - 1), size - 1)
end

local function control(name, state, option)
    if option == " " then return end
    if option == ">" then state.big = true return end
    if option == "<" then state.big = false return end
    if option == "!" then
        local align = number(state, MAX_ALIGN)
        if align <= 0 or host_and(align, align - 1) ~= 0 then
            error("alignment " .. align .. " is not a power of 2", 0)
        end
        state.align = align
        return
    end
    bad_argument(1, name, "invalid format option '" .. option .. "'")
end

local function next_option(state)
    local option = sub(state.text, state.at, state.at)
    state.at = state.at + 1
    return option
end

local function text_argument(name, position, count, value)
    if type(value) == "string" then return value end
    if type(value) == "number" then return tostring(value) end
    error(wrong_type(position, name, "string", count, value), 0)
end

local function number_argument(name, position, count, value)
    local converted = (type(value) == "number" or type(value) == "string") and tonumber(value)
    if not converted then error(wrong_type(position, name, "number", count, value), 0) end
    return converted
end

local function signless(value)
    return value == 0 and 1 / value < 0 and "-0" or value
end

local struct = {}

function struct.pack(...)
    local count, state = select("#", ...), reader(text_argument("pack", 1, select("#", ...), (...)))
    local parts, total, position = {}, 0, 2
    count = count + 1 -- the original puts a nil behind its arguments
    while state.at <= #state.text do
        local option = next_option(state)
        local size = size_of(state, option)
        local gap = padding(state, total, option, size)
        if gap > 0 then parts[#parts + 1] = rep("\0", gap) end
        total = total + gap
        local value = select(position, ...)
        if INTEGERS[option] then
            value = number_argument("pack", position, count, value)
            parts[#parts + 1] = put_integer(value, size, state.big)
            position = position + 1
        elseif option == "x" then
            parts[#parts + 1] = "\0"
        elseif option == "f" or option == "d" then
            value = signless(number_argument("pack", position, count, value))
            parts[#parts + 1] = enough(put_real(value, option == "d", state.big))
            position = position + 1
        elseif option == "c" or option == "s" then
            value = text_argument("pack", position, count, value)
            position = position + 1
            if size == 0 then size = #value end
            if #value < size then bad_argument(position, "pack", "string too short") end
            parts[#parts + 1] = sub(value, 1, size)
            if option == "s" then
                parts[#parts + 1] = "\0"
                size = size + 1
            end
        else
            control("pack", state, option)
        end
        total = total + size
    end
    return concat(parts)
end

function struct.unpack(...)
    local count, _, data, offset = select("#", ...), ...
    local state = reader(text_argument("unpack", 1, count, (...)))
    data = text_argument("unpack", 2, count, data)
    offset = offset == nil and 1 or number_argument("unpack", 3, count, offset)
    offset = offset < 0 and math.ceil(offset) or floor(offset)
    if offset == 0 then bad_argument(3, "unpack", "offset must be 1 or greater") end
    -- The original's offset is unsigned, so that a negative one is beyond the end of any data.
    local results, length, at = {}, 0, offset < 0 and 2 ^ 63 or offset - 1
    local function check(size)
        if size > #data or at > #data - size then
            bad_argument(2, "unpack", "data string too short")
        end
    end
    while state.at <= #state.text do
        local option = next_option(state)
        local size = size_of(state, option)
        at = at + padding(state, at, option, size)
        check(size)
        local value
        if INTEGERS[option] then
            value = get_integer(sub(data, at + 1, at + size), state.big, option:lower() == option)
        elseif option == "f" or option == "d" then
            value = get_real(sub(data, at + 1, at + size), state.big)
        elseif option == "c" then
            if size == 0 then
                if length == 0 or not tonumber(results[length]) then
                    error("format 'c0' needs a previous size", 0)
                end
                size = floor(tonumber(results[length]))
                length = length - 1
                if size < 0 then size = 2 ^ 63 end
                check(size)
            end
            value = sub(data, at + 1, at + size)
        elseif option == "s" then
            local zero = find(data, "%z", at + 1)
            if not zero then error("unfinished string in data", 0) end
            value = sub(data, at + 1, zero - 1)
            size = zero - at
        elseif option ~= "x" then
            control("unpack", state, option)
        end
        if value ~= nil then
            length = length + 1
            results[length] = value
            if length > 7990 then error("stack overflow (too many results)", 0) end
        end
        at = at + size
    end
    results[length + 1] = offset < 0 and offset or at + 1
    return unpack(results, 1, length + 1)
end

function struct.size(...)
    local state = reader(text_argument("size", 1, select("#", ...), (...)))
    local total = 0
    while state.at <= #state.text do
        local option = next_option(state)
        local size = size_of(state, option)
        total = total + padding(state, total, option, size)
        if option == "s" then bad_argument(1, "size", "option 's' has no fixed size") end
        if option == "c" and size == 0 then
            bad_argument(1, "size", "option 'c0' has no fixed size")
        end
        if not option:find("^%w") then control("size", state, option) end
        total = total + size
    end
    return total
end

return sandbox.natives(struct)

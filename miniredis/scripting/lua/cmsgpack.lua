-- The library `cmsgpack`: Lua values as MessagePack.

local host, sandbox, integers = ...
local wrong_type, bad_argument, enough = sandbox.wrong_type, sandbox.bad_argument, sandbox.enough
local take_turn = sandbox.take_turn
local type, tonumber, tostring, select, error, unpack = type, tonumber, tostring, select, error, unpack
local next, concat, char, byte, sub, floor = next, table.concat, string.char, string.byte, string.sub, math.floor
local put_integer, get_integer, put_real, get_real = integers.put, integers.get, host.put_real, host.get_real

local DEEPEST_PACKED = 16
local DEEPEST = 7900
local SHORTENED = 2 ^ 53
local LEAST, MOST = -2 ^ 63, 2 ^ 63
local EOF, FORMAT = "Missing bytes in input.", "Bad data format in input."

local function sized(value, size, head)
    return char(head) .. put_integer(value, size, true)
end

local function integer(value)
    if value >= 0 then
        if value <= 127 then return char(value) end
        if value <= 0xff then return char(0xcc, value) end
        if value <= 0xffff then return sized(value, 2, 0xcd) end
        if value <= 0xffffffff then return sized(value, 4, 0xce) end
        return sized(value, 8, 0xcf)
    end
    if value >= -32 then return char(256 + value) end
    if value >= -128 then return char(0xd0, 256 + value) end
    if value >= -32768 then return sized(value, 2, 0xd1) end
    if value >= -2147483648 then return sized(value, 4, 0xd2) end
    return sized(value, 8, 0xd3)
end

local function real(value)
    local short = enough(put_real(value, false, true))
    if get_real(short, true) == value then return "\202" .. short end
    return "\203" .. enough(put_real(value, true, true))
end

local function text(value)
    local size = #value
    if size < 32 then return char(0xa0 + size) .. value end
    if size <= 0xff then return char(0xd9, size) .. value end
    if size <= 0xffff then return sized(size, 2, 0xda) .. value end
    return sized(size, 4, 0xdb) .. value
end

local function head(size, few, some, many)
    if size <= 15 then return char(few + size) end
    if size <= 0xffff then return sized(size, 2, some) end
    return sized(size, 4, many)
end

local function is_array(value)
    local most, count = 0, 0
    for key in next, value do
        if type(key) ~= "number" or key <= 0 or key % 1 ~= 0 or key > 2147483647 then return false end
        if key > most then most = key end
        count = count + 1
    end
    return most == count
end

local pack_value

local function pack_table(value, parts, depth)
    take_turn()
    if is_array(value) then
        parts[#parts + 1] = head(#value, 0x90, 0xdc, 0xdd)
        for index = 1, #value do pack_value(value[index], parts, depth + 1) end
        return
    end
    local count = 0
    for _ in next, value do count = count + 1 end
    parts[#parts + 1] = head(count, 0x80, 0xde, 0xdf)
    for key, item in next, value do
        pack_value(key, parts, depth + 1)
        pack_value(item, parts, depth + 1)
    end
end

function pack_value(value, parts, depth)
    local kind = type(value)
    if kind == "string" then
        parts[#parts + 1] = text(value)
    elseif kind == "number" then
        local is_integer = value % 1 == 0 and value >= LEAST and value < MOST
        parts[#parts + 1] = is_integer and integer(value) or real(value)
    elseif kind == "boolean" then
        parts[#parts + 1] = value and "\195" or "\194"
    elseif kind == "table" and depth < DEEPEST_PACKED then
        pack_table(value, parts, depth)
    else
        parts[#parts + 1] = "\192"
    end
end

local cmsgpack = {
    _NAME = "cmsgpack", _VERSION = "lua-cmsgpack 0.4.0", _COPYRIGHT = "Copyright (C) 2012, Salvatore Sanfilippo",
    _DESCRIPTION = "MessagePack C implementation for Lua",
}

function cmsgpack.pack(...)
    local count = select("#", ...)
    if count == 0 then bad_argument(0, "pack", "MessagePack pack needs input.") end
    local parts = {}
    for index = 1, count do pack_value((select(index, ...)), parts, 0) end
    return concat(parts)
end

-- Reading: `state` has the text and the number of bytes that were read

local function take(state, size)
    local at = state.at
    if at + size > state.size then error(EOF, 0) end
    state.at = at + size
    return sub(state.text, at + 1, at + size)
end

local read

local function array(state, size, depth)
    local result = {}
    for index = 1, size do result[index] = read(state, depth + 1) end
    return result
end

local function map(state, size, depth)
    local result = {}
    for _ = 1, size do
        local key = read(state, depth + 1)
        local value = read(state, depth + 1)
        if key == nil then error({unplaced = "table index is nil"}) end
        if key ~= key then error({unplaced = "table index is NaN"}) end
        result[key] = value
    end
    return result
end

local function count(state, size)
    return get_integer(take(state, size), true, false)
end

local READERS = {
    [0xc0] = function() return nil end,
    [0xc2] = function() return false end,
    [0xc3] = function() return true end,
    [0xca] = function(state) return get_real(take(state, 4), true) end,
    [0xcb] = function(state) return get_real(take(state, 8), true) end,
    [0xd9] = function(state) return take(state, count(state, 1)) end,
    [0xda] = function(state) return take(state, count(state, 2)) end,
    [0xdb] = function(state) return take(state, count(state, 4)) end,
    [0xdc] = function(state, depth) return array(state, count(state, 2), depth) end,
    [0xdd] = function(state, depth) return array(state, count(state, 4), depth) end,
    [0xde] = function(state, depth) return map(state, count(state, 2), depth) end,
    [0xdf] = function(state, depth) return map(state, count(state, 4), depth) end,
}
for power = 0, 3 do
    READERS[0xcc + power] = function(state) return get_integer(take(state, 2 ^ power), true, power == 3) end
    READERS[0xd0 + power] = function(state) return get_integer(take(state, 2 ^ power), true, true) end
end

function read(state, depth)
    if depth > DEEPEST then error("stack overflow (in function mp_decode_to_lua_array)", 0) end
    local first = byte(take(state, 1))
    if first < 0x80 then return first end
    if first >= 0xe0 then return first - 256 end
    local reader = READERS[first]
    if reader then return reader(state, depth) end
    if first >= 0xc0 then error(FORMAT, 0) end
    if first >= 0xa0 then return take(state, first - 0xa0) end
    if first >= 0x90 then return array(state, first - 0x90, depth) end
    return map(state, first - 0x80, depth)
end

local function unpack_some(input, limit, offset)
    if offset < 0 or limit < 0 then
        error("Invalid request to unpack with offset of " .. offset .. " and limit of " .. #input .. ".", 0)
    elseif offset > #input then
        error("Start offset " .. offset .. " greater than input length " .. #input .. ".", 0)
    end
    local all = limit == 0 and offset == 0
    local state = {text = input, size = #input, at = offset}
    local results, length = {}, 0
    while state.at < state.size and (all or length < limit) do
        length = length + 1
        results[length] = read(state, 1)
        if length > 7990 then error("stack overflow (in function mp_unpack_full)", 0) end
    end
    if all then return unpack(results, 1, length) end
    return state.at == state.size and -1 or state.at, unpack(results, 1, length)
end

local function text_argument(name, total, value)
    if type(value) == "string" then return value end
    if type(value) == "number" then return tostring(value) end
    error(wrong_type(1, name, "string", total, value), 0)
end

local function integer_argument(name, position, total, value)
    local converted = tonumber(value)
    if not converted then error(wrong_type(position, name, "number", total, value), 0) end
    return converted < 0 and math.ceil(converted) or floor(converted)
end

function cmsgpack.unpack(...)
    return unpack_some(text_argument("unpack", select("#", ...), (...)), 0, 0)
end

function cmsgpack.unpack_one(...)
    local total, input, offset = select("#", ...), ...
    offset = offset == nil and 0 or integer_argument("unpack_one", 2, total, offset)
    return unpack_some(text_argument("unpack_one", total, input), 1, offset)
end

function cmsgpack.unpack_limit(...)
    local total, input, limit, offset = select("#", ...), ...
    limit = integer_argument("unpack_limit", 2, total, limit)
    offset = offset == nil and 0 or integer_argument("unpack_limit", 3, total, offset)
    return unpack_some(text_argument("unpack_limit", total, input), limit, offset)
end

return sandbox.natives(cmsgpack)

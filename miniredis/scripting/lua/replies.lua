-- Encodes the result of a script for the protocol of the client that called it.
--
-- The reply is built as a list of short texts, joined at the end. A long string is never copied in Lua: Python
-- joins it with the texts before and after it, outside the memory of scripts.
--
-- Arguments: Python's functions (callbacks.py), and the sandbox.

local host, sandbox = ...
local trimmed, check_killed = sandbox.trimmed, sandbox.check_killed

local LEAST, MOST = -2 ^ 63, 2 ^ 63
-- Redis keeps the tables that it is encoding on Lua's stack, whose slots are limited; `depth` counts them.
local SLOTS, NEEDED = 8000, 4
local LONG = 4096 -- bytes; a string of this length or more is not copied
local MOST_TEXTS = 4096 -- are joined at a time
local MOST_BYTES = 2 ^ 30 -- in a reply that has the same strings more than once
local rawget, type, next, gsub, format, concat = rawget, type, next, string.gsub, string.format, table.concat
local error, gcinfo, max = error, gcinfo, math.max

local texts, count -- the short texts to be joined next, and their number
local pieces, finished -- joined texts and long strings, in their order, and their number
local room -- bytes that the reply may still have

local function add_piece(piece)
    finished = finished + 1
    pieces[finished] = piece
    room = room - #piece
    if room < 0 then error("not enough memory", 0) end
end

local function flush()
    add_piece(concat(texts, "", 1, count))
    count = 0
    check_killed()
end

local function put(text)
    if count == MOST_TEXTS then flush() end
    count = count + 1
    texts[count] = text
end

local function one_line(text)
    return (gsub(text, "[\r\n]", " "))
end

-- The text of a status or an error, which Redis keeps as a C string.
local function until_nul(text)
    return (gsub(text, "%z.*", ""))
end

local function put_bulk(text)
    if #text < LONG then return put("$" .. #text .. "\r\n" .. text .. "\r\n") end
    put("$" .. #text .. "\r\n")
    flush()
    add_piece(text)
    put("\r\n")
end

local function integer(number)
    if not (number >= LEAST and number < MOST) then return ":-9223372036854775808\r\n" end
    return format(":%d\r\n", number)
end

-- Since 7.2 a double has as few digits as tell it from others. Python would not see the sign of a zero.
local is_short, short_text = host.version_number >= 0x070200, host.short_text

local function put_double(number, resp)
    local text = is_short and number ~= 0 and short_text(number) or format("%.17g", number)
    if resp == 3 then return put("," .. text .. "\r\n") end
    put_bulk(text)
end

local put_value

local function boolean(value, resp, script_resp)
    if script_resp == 3 then
        if resp == 3 then return value and "#t\r\n" or "#f\r\n" end
        return value and ":1\r\n" or ":0\r\n"
    end
    if value then return ":1\r\n" end
    return resp == 3 and "_\r\n" or "$-1\r\n"
end

local function put_array(value, resp, script_resp, depth)
    local has_slots = depth + 1 + NEEDED <= SLOTS
    local length = 0
    while rawget(value, length + 1) ~= nil do length = length + 1 end
    put("*" .. length .. "\r\n")
    for index = 1, length do
        local item = rawget(value, index)
        if has_slots and type(item) == "string" then put_bulk(item) else put_value(item, resp, script_resp, depth + 1) end
    end
end

local function size_of(value)
    local size = 0
    for _ in next, value do size = size + 1 end
    return size
end

local function put_map(value, resp, script_resp, depth)
    local size = size_of(value)
    put((resp == 3 and "%" .. size or "*" .. 2 * size) .. "\r\n")
    for key, item in next, value do
        put_value(key, resp, script_resp, depth + 4)
        put_value(item, resp, script_resp, depth + 3)
    end
end

local function put_set(value, resp, script_resp, depth)
    put((resp == 3 and "~" or "*") .. size_of(value) .. "\r\n")
    for key in next, value do put_value(key, resp, script_resp, depth + 3) end
end

-- Adds a verbatim string to the reply; returns whether the table is one.
local function put_verbatim(value, resp)
    local kind, text = rawget(value, "format"), rawget(value, "string")
    if type(kind) ~= "string" or type(text) ~= "string" then return false end
    if resp == 3 then
        kind = (kind .. "   "):sub(1, 3)
        put("=" .. #text + 4 .. "\r\n" .. kind .. ":" .. text .. "\r\n")
    else
        put_bulk(text)
    end
    return true
end

local function put_error(value, text)
    text = until_nul(text)
    if not rawget(value, "ignore_error_stats_update") then host.count_error(text) end
    put("-" .. one_line(trimmed((text:gsub("^[\r\n]+", "")))) .. "\r\n")
end

local function put_table(value, resp, script_resp, depth)
    local part = rawget(value, "err")
    if type(part) == "string" then return put_error(value, part) end
    part = rawget(value, "ok")
    if type(part) == "string" then return put("+" .. one_line(until_nul(part)) .. "\r\n") end
    part = rawget(value, "double")
    if type(part) == "number" then return put_double(part, resp) end
    part = rawget(value, "map")
    if type(part) == "table" then return put_map(part, resp, script_resp, depth) end
    part = rawget(value, "set")
    if type(part) == "table" then return put_set(part, resp, script_resp, depth) end
    part = rawget(value, "big_number")
    if type(part) == "string" then
        part = one_line(part)
        if resp == 3 then return put("(" .. part .. "\r\n") end
        return put_bulk(part)
    end
    part = rawget(value, "verbatim_string")
    if type(part) == "table" and put_verbatim(part, resp) then return end
    put_array(value, resp, script_resp, depth)
end

local function of_scalar(value, kind, resp, script_resp)
    if kind == "number" then return integer(value) end
    if kind == "boolean" then return boolean(value, resp, script_resp) end
    return resp == 3 and "_\r\n" or "$-1\r\n"
end

function put_value(value, resp, script_resp, depth)
    if depth + NEEDED > SLOTS then return put("-ERR reached lua stack limit\r\n") end
    local kind = type(value)
    if kind == "string" then return put_bulk(value) end
    if kind == "table" then return put_table(value, resp, script_resp, depth) end
    put(of_scalar(value, kind, resp, script_resp))
end

-- Returns the reply as a string; or true and a long string that is the result; or a table of pieces to be joined.
local function encode(value, resp, script_resp)
    local kind = type(value)
    if kind == "string" then
        if #value >= LONG then return true, value end
        return "$" .. #value .. "\r\n" .. value .. "\r\n"
    end
    if kind ~= "table" then return of_scalar(value, kind, resp, script_resp) end
    texts, count, pieces, finished = {}, 0, {}, 0
    local found = pieces
    room = max(MOST_BYTES, 2048 * gcinfo()) -- twice the memory in use: enough for a reply with no string twice
    put_table(value, resp, script_resp, 2)
    if finished == 0 then return concat(texts, "", 1, count) end
    flush()
    return found
end

-- Drops the last reply, which would count as memory of the next script.
local function forget()
    texts, pieces = nil, nil
end

return {encode = encode, forget = forget}

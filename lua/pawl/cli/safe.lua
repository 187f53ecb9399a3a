--- Text of users as it may be shown: the one home of what a terminal obeys.
--
-- What workflows, handlers, events and files say may hold anything. All that
-- the command writes passes through here (term.lua sees to it): control
-- characters, those of C1 and DEL too, and what turns the order of letters
-- around are shown, not obeyed; bytes that are not UTF-8 likewise. A line
-- stays one line. Doing it twice does no harm.
local safe = {}

--- Is this code point one that a terminal, or a reader's eye, obeys?
local function is_control(c)
  return c < 0x20 and c ~= 9 or c >= 0x7f and c <= 0x9f -- tabs are harmless
    or c == 0x61c or c == 0x200e or c == 0x200f -- marks of direction
    or c >= 0x2028 and c <= 0x202e -- separators, embeddings, overrides
    or c >= 0x2066 and c <= 0x206f -- isolates
    or c == 0xfeff or c >= 0xfff9 and c <= 0xfffb
end

local function shown(c)
  return c < 0x80 and ("\\x%02x"):format(c) or ("\\u{%x}"):format(c)
end

local function replaced(char)
  local c = utf8.codepoint(char)
  return is_control(c) and shown(c) or nil
end

local function replace_byte(byte) return shown(byte:byte()) end

--- Bytes that are not UTF-8 are shown as such.
local function escape_strays(text)
  local out, from = {}, 1
  while true do
    local len, stray = utf8.len(text, from)
    if len then break end
    out[#out + 1] = text:sub(from, stray - 1)
    out[#out + 1] = ("\\x%02x"):format(text:byte(stray))
    from = stray + 1
  end
  return table.concat(out) .. text:sub(from)
end

--- As one line.
---@param text string
---@return string
function safe.line(text)
  if not text:find "[%c\x80-\xff]" then return text end
  text = text:gsub("%s*\n%s*", " "):gsub("[%z\1-\8\11-\31\127]",
    replace_byte)
  if not text:find "[\x80-\xff]" then return text end
  return (escape_strays(text):gsub("[\xc2-\xf4][\x80-\xbf]+", replaced))
end

local function as_json(char)
  local c = utf8.codepoint(char, 1, 1, true)
  return is_control(c) and ("\\u%04x"):format(c) or nil
end

--- JSON that says the same without such characters.
---@param text string  JSON
---@return string
function safe.json(text)
  return (text:gsub("\127", "\\u007f")
    :gsub("[\xc2-\xef][\x80-\xbf]+", as_json))
end

return safe

--- Where the command's words go: the terminal, a pipe, a file.
--
-- Every write is checked. A reader that has gone away (`pawl list | head -1`)
-- ends the command quietly with code 141, as a shell shows death by SIGPIPE;
-- a full disk is an error like any other. And every write is a line of text
-- that a terminal only shows (safe.lua), colours of our own apart.
local safe = require "pawl.cli.safe"
local sys = require "pawl.sys"

local term = {
  closed = 141, -- exit code when nobody reads any more
}

local colors = { red = 31, green = 32, yellow = 33, cyan = 36, dim = 2,
  bold = 1 }

local EPIPE, EAGAIN = 32, 11

-- Longest text of an error in a line; `pawl show` has all of it.
local LONGEST = 200

local function setting(name)
  local value = os.getenv(name)
  return value ~= nil and value ~= "" and value or nil
end

local function is_utf8()
  local lang = setting "LC_ALL" or setting "LC_CTYPE" or setting "LANG" or ""
  return lang:lower():find("utf%-?8") ~= nil
end

--- Looks at the terminal once; `plain` is --no-color.
---@param options { plain?: boolean }
function term.setup(options)
  term.out = io.stdout
  term.tty = sys.isatty(1)
  term.fancy = term.tty and is_utf8() and not options.plain
    and not setting "NO_COLOR"
  term.color = term.tty and not options.plain and not setting "NO_COLOR"
    and os.getenv "TERM" ~= "dumb"
end

--- Columns to fit text into; nil outside a terminal, where nothing is cut.
function term.width()
  if term.tty then return sys.width() end
end

--- From now on the command writes to standard output through a stream of its
--- own, and handlers line by line. A line-buffered stream would not tell when
--- a line could not be written.
function term.separate()
  io.stdout:setvbuf("line")
  term.out = sys.twin()
end

--- From now on whatever is written to standard output, by handlers and their
--- children too, goes to standard error; the command alone keeps the real one.
function term.divert()
  term.out = sys.divert()
  term.tty, term.fancy, term.color = false, false, false
end

local function check(ok, why, number)
  if ok then return end
  if number == EPIPE or number == EAGAIN then
    error({ exit = term.closed }, 0)
  end
  error({ code = "output", message = "cannot be written: " .. why }, 0)
end

-- Colours are marks in the text until it is written: as no text of a user can
-- hold them, drawn anew by each process, none can colour itself either.
local mark = ("pawl%016x%016x"):format(math.random(0), math.random(0))

local function rendered(...)
  return (safe.line(table.concat { ... }):gsub(mark, "\27["))
end

--- One line: what breaks lines within it becomes a space.
function term.print(...)
  check(term.out:write(rendered(...), "\n"))
end

--- Text of several lines.
function term.lines(text)
  for line in (text:gsub("\n$", "") .. "\n"):gmatch "(.-)\n" do
    term.print(line)
  end
end

--- A file's text as it is, byte by byte; a terminal is shown its lines.
function term.bytes(text)
  if term.tty then return term.lines(text) end
  check(term.out:write(text))
end

--- JSON, for programs: the same value, also on a terminal.
function term.json(text) check(term.out:write(safe.json(text), "\n")) end

--- An empty screen, where there is one that knows how.
function term.clear()
  if os.getenv "TERM" ~= "dumb" then check(term.out:write "\27[H\27[2J") end
end

--- A line that is seen at once, in a pipe too.
function term.say(...)
  term.print(...)
  check(term.out:flush())
end

function term.flush() check(term.out:flush()) end

function term.warn(...) io.stderr:write(rendered(...), "\n") end

function term.paint(color, text)
  if not term.color then return text end
  return ("%s%dm%s%s0m"):format(mark, colors[color], text, mark)
end

--- "✓" or its stand-in where only ASCII can be shown.
function term.mark(fancy, plain) return term.fancy and fancy or plain end

--- As safe.line says; for what is put into a line before it is written, and
--- measured or cut there.
term.clean = safe.line

--- The same for a line that shows it among other things: not too long.
function term.brief(text) return term.cut(term.clean(text), LONGEST) end

--- Columns that a text takes; wide characters of East Asia take two.
function term.columns(text)
  if not utf8.len(text) then return #text end
  local n = 0
  for _, c in utf8.codes(text) do
    local wide = c >= 0x1100 and (c <= 0x115f or c >= 0x2e80 and c <= 0xa4cf
      or c >= 0xac00 and c <= 0xd7a3 or c >= 0xf900 and c <= 0xfaff
      or c >= 0xfe30 and c <= 0xfe6f or c >= 0xff00 and c <= 0xff60
      or c >= 0x1f300 and c <= 0x1faff)
    local combining = c >= 0x300 and c <= 0x36f or c == 0x200d
      or c >= 0xfe00 and c <= 0xfe0f
    n = n + (wide and 2 or combining and 0 or 1)
  end
  return n
end

--- The end of a text, in at most `width` columns.
local function tail(text, width)
  local from, used = #text + 1, 0
  while from > 1 do
    local at = utf8.offset(text, -1, from)
    used = used + term.columns(text:sub(at, from - 1))
    if used > width then break end
    from = at
  end
  return text:sub(from)
end

--- At most `width` columns; what is left out shows as an ellipsis.
---@param at_start? boolean  the end is kept
function term.cut(text, width, at_start)
  if not width or term.columns(text) <= width then return text end
  local dots = term.mark("…", "...")
  local room = width - term.columns(dots)
  if room <= 0 then return text:sub(1, math.max(width, 0)) end
  if not utf8.len(text) then return text:sub(1, room) .. dots end
  if at_start then return dots .. tail(text, room) end
  local kept, used = {}, 0
  for _, c in utf8.codes(text) do
    local char = utf8.char(c)
    used = used + term.columns(char)
    if used > room then break end
    kept[#kept + 1] = char
  end
  return table.concat(kept) .. dots
end

--- Pieces { text, color? } in a row, as many as have room: what is coloured
--- cannot be cut any more.
---@param pieces { [1]: string, [2]: string? }[]
---@param room? number  columns; nil: any number
---@return string
function term.fit(pieces, room)
  local out = {}
  room = room or math.huge
  for _, piece in ipairs(pieces) do
    local text = term.cut(piece[1], room)
    room = room - term.columns(text)
    out[#out + 1] = piece[2] and text ~= "" and term.paint(piece[2], text)
      or text
    if text ~= piece[1] then break end
  end
  return table.concat(out)
end

--- Gives each row, as `shown`, the end of the id in one of its fields: on a
--- terminal, and as long as it takes to tell the rows apart. Ids begin with the
--- time, which those made together share.
function term.shorten(rows, field)
  local digits = 8
  repeat
    local seen, alike = {}, false
    for _, row in ipairs(rows) do
      local id = row[field]
      local text = term.tty and id:sub(-digits) or id
      alike = alike or seen[text] and seen[text] ~= id
      seen[text], row.shown = id, text
    end
    digits = digits + 4
  until not alike or digits > 12
end

return term

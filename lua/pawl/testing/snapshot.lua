--- What an instance went through as text that stays the same from run to run,
--- and files that hold what it was.
local core = require "pawl.core"
local caller = require "pawl.testing.caller"

local snapshot = {}

--- Are files to be written anew? `pawl test --write` says so, or PAWL_WRITE.
snapshot.writes = os.getenv "PAWL_WRITE" == "1"

---- the text ------------------------------------------------------------------

local HEX <const> = "%x%x%x%x"
local UUID <const> = HEX .. HEX .. "%-" .. HEX .. "%-" .. HEX .. "%-" .. HEX
  .. "%-" .. HEX .. HEX .. HEX
local TIME <const> =
  "%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.?%d*Z"
local TOKEN <const> = ("[%w_-]"):rep(54) .. "%f[.]" -- of ctx.callback

--- Ids are numbered as they come, times are only said to be some.
local function neutral(text)
  local known, n = {}, 0
  return (text:gsub(UUID, function(id)
    if not known[id] then
      n = n + 1
      known[id] = ("<id %d>"):format(n)
    end
    return known[id]
  end):gsub(TOKEN, "<token>"):gsub(TIME, "<time>"))
end

local function shown(value)
  return core.json_encode(value) or tostring(value)
end

--- Who sent it and when is left out: ids of events are drawn.
local function changes_of(changes)
  local out
  for name, value in pairs(changes or {}) do
    if name ~= "event" then
      out = out or {}
      out[name] = value
    end
  end
  return out and shown(out)
end

local function told(value, format)
  if value == nil or value == "" then return "" end
  return format:format(type(value) == "string" and value or shown(value))
end

local function line_of(row)
  local attempt = (row.attempt or 0) > 1 and row.attempt or nil
  local error = row.error
  return "  " .. row.type .. told(row.node, " %s")
    .. told(row.transition, "=%s") .. told(attempt, ", attempt %s")
    .. told(row.path, " -> %s")
    .. told(row.by, ", by %s") .. told(row.text, ": %s")
    .. (error and ("\n    error: %s: %s"):format(error.code or "?",
      error.message or "") or "")
    .. (row.output ~= nil and "\n    output: " .. shown(row.output) or "")
    .. told(changes_of(row.changes), "\n    changes: %s")
end

local function must(value, err)
  if value == nil then caller.fail("%s", tostring(err)) end
  return value
end

--- What it went through, without its ids and times.
---@param engine pawl.Engine
---@param id string
---@return string
function snapshot.text(engine, id)
  caller.instance("test.history", engine, id)
  local one = must(engine:get(id))
  local lines = { ("%s is %s"):format(one.workflow, one.status) }
  for _, row in ipairs(must(engine:history(id))) do
    lines[#lines + 1] = line_of(row)
  end
  for _, token in ipairs(must(engine:tokens(id))) do
    if token.state == "waiting" then
      lines[#lines + 1] = "waits at " .. token.node
    end
  end
  lines[#lines + 1] = "variables: " .. shown(one.variables)
  if one.output ~= nil then
    lines[#lines + 1] = "output: " .. shown(one.output)
  end
  return neutral(table.concat(lines, "\n") .. "\n")
end

---- what differs --------------------------------------------------------------

local MOST <const> = 400 -- lines that are compared with each other

local function lines_of(text)
  local lines = {}
  for line in text:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  return lines
end

--- How long the longest common sequence is, from each place on.
local function common(a, b)
  local long = {}
  for i = #a + 1, 1, -1 do
    long[i] = {}
    for j = #b + 1, 1, -1 do
      if i > #a or j > #b then
        long[i][j] = 0
      elseif a[i] == b[j] then
        long[i][j] = long[i + 1][j + 1] + 1
      else
        long[i][j] = math.max(long[i + 1][j], long[i][j + 1])
      end
    end
  end
  return long
end

--- Lines in front of which stands "-" (was) or "+" (is).
local function apart(a, b)
  local out, i, j = {}, 1, 1
  local long = #a <= MOST and #b <= MOST and common(a, b)
  while i <= #a or j <= #b do
    if long and i <= #a and j <= #b and a[i] == b[j] then
      out[#out + 1] = "  " .. a[i]
      i, j = i + 1, j + 1
    elseif i <= #a and (not long or j > #b or long[i + 1][j] >= long[i][j + 1])
    then
      out[#out + 1] = "- " .. a[i]
      i = i + 1
    else
      out[#out + 1] = "+ " .. b[j]
      j = j + 1
    end
  end
  return out
end

--- What is not as it was, with two lines around it.
---@param was string
---@param is string
---@return string[]
function snapshot.differences(was, is)
  local a, b, first = lines_of(was), lines_of(is), 0
  while first < #a and a[first + 1] == b[first + 1] do first = first + 1 end
  local last = 0
  while last < math.min(#a, #b) - first and a[#a - last] == b[#b - last] do
    last = last + 1
  end
  local out = {}
  for i = math.max(1, first - 1), first do out[#out + 1] = "  " .. a[i] end
  local middle = apart(table.move(a, first + 1, #a - last, 1, {}),
    table.move(b, first + 1, #b - last, 1, {}))
  table.move(middle, 1, #middle, #out + 1, out)
  for i = #a - last + 1, math.min(#a, #a - last + 2) do
    out[#out + 1] = "  " .. a[i]
  end
  return out
end

---- files ---------------------------------------------------------------------

local function write(path, text)
  local file, why = io.open(path, "wb")
  local ok = file and file:write(text)
  if file then ok = file:close() and ok end
  if not ok then
    caller.fail("history: cannot write %s: %s", path, why or "no space")
  end
end

--- Is it as the file says? One that is not there is written, where it may be:
--- what it is not to be like is nobody's to write.
---@param engine pawl.Engine
---@param id string
---@param path string
---@param may_write boolean
---@return boolean is
---@return string[] lines  what is not so
function snapshot.compare(engine, id, path, may_write)
  local is, file, why = snapshot.text(engine, id), io.open(path, "rb")
  if may_write and (not file or snapshot.writes) then
    if file then file:close() end
    write(path, is)
    return true, {}
  elseif not file then
    caller.fail("history: cannot read %s; only where it is not negated a file "
      .. "that is missing is written", why)
  end
  local was = file:read "a"
  file:close()
  if was == is then return true, {} end
  return false, snapshot.differences(was, is)
end

return snapshot

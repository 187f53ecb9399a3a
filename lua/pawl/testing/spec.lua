--- An instance that was, written down as a spec: where it went is what is
--- asserted, what its handlers gave is replayed.
local acts = require "pawl.testing.acts"
local asserts = require "pawl.testing.asserts"
local caller = require "pawl.testing.caller"
local core = require "pawl.core"
local duration = require "pawl.duration"
local keys = require "pawl.keys"
local literal = require "pawl.testing.literal"
local recorded = require "pawl.testing.recorded"
local timeline = require "pawl.testing.timeline"

local spec = {}

---@class pawl.SpecOptions
---@field load? string   the workflow's file, as the spec is to load it
---@field mask? string[] what is not for others: as of `pawl export`

local LONGEST <const> = 1000 -- bytes of a value that is asserted at the end
local WIDTH <const> = 79

--- "order.lua" of "shop.order".
---@param code string
---@return string
function spec.file_of(code) return code:match "[^.]*$" .. ".lua" end

---- words -------------------------------------------------------------------

local function time(us)
  return literal.text((core.time_format(us):gsub("%.000000Z$", "Z")))
end

--- A comment of so many lines as it takes.
local function comment(lines, text, front)
  local line = front or "--"
  for word in text:gmatch "%S+" do
    if #line + #word + 1 > WIDTH then
      lines[#lines + 1] = line
      line = "--  "
    end
    line = line .. " " .. word
  end
  lines[#lines + 1] = line
end

local call, ID = literal.call, acts.ID

---- what stands in ------------------------------------------------------------

-- Members of an attempt that are no part of what is written.
local INNER <const> = { visit = true, i = true, row = true, begun = true,
  index = true }

local TYPED <const> = { decimal = true, date = true, binary = true }

--- An attribute as Lua sets it.
local function attribute(kind, value)
  if not TYPED[kind] then return value end
  if kind == "binary" then value = core.unbase64(value) end
  return literal.raw(("pawl.%s %s"):format(kind, literal.text(value)))
end

local function shown(entry)
  local out = {}
  for name, value in pairs(entry) do
    if not INNER[name] then out[name] = value end
  end
  if out.at then out.at = literal.raw(time(out.at)) end
  if out.attrs then
    local attrs = {}
    for name, one in pairs(out.attrs) do
      attrs[name] = one == core.null and one or attribute(one.type, one.value)
    end
    out.attrs = attrs
  end
  if out.unset and #out.unset == 0 then out.unset = nil end
  if out.message == out.code then out.message = nil end
  return out
end

--- In the order in which they came first.
local function in_order(lists)
  local names = keys(lists)
  local function first(name)
    local entry = lists[name][1]
    return entry and entry.visit or 0
  end
  table.sort(names, function(a, b)
    if first(a) ~= first(b) then return first(a) < first(b) end
    return a < b
  end)
  return names
end

local function doubles_of(lines, method, lists)
  for _, name in ipairs(in_order(lists)) do
    local entries = {}
    for i, entry in ipairs(lists[name]) do
      entries[i] = "      " .. literal.of(shown(entry), 6)
    end
    local body = #entries > 0 and "\n" .. table.concat(entries, ",\n")
      .. ",\n    " or ""
    lines[#lines + 1] = ("    engine:%s(%s, {%s})"):format(method,
      literal.text(name), body)
  end
end

--- Where no step ran at all, one is told so: none is to run, then.
local function with_a_step(one, steps)
  if next(steps) then return steps end
  for _, name in ipairs(keys(one.nodes)) do
    if one.nodes[name].kind == "step" then return { [name] = {} } end
  end
  return steps
end

---- its start -----------------------------------------------------------------

local COLUMNS <const> = { string = "text_value", integer = "number_value",
  decimal = "number_value", float = "float_value", date = "date_value",
  binary = "bytes_value", boolean = "boolean_value" }

--- Those that it had from its start: changed later by nobody.
local function attributes_of(one)
  local changed, out = {}, nil
  for _, row in ipairs(one.history) do
    for name in pairs(row.changes and row.changes.attributes or {}) do
      changed[name] = true
    end
  end
  for _, row in ipairs(one.attributes) do
    local value = row[COLUMNS[row.type]]
    if row.type == "integer" then value = math.tointeger(tonumber(value)) end
    if not changed[row.name] and value ~= nil then
      out = out or {}
      out[row.name] = attribute(row.type, value)
    end
  end
  return out
end

--- Whoever said it, its start or a function: the spec has the same time.
local function lasts_of(row)
  if row.lasts and row.lasts < duration.MAX_US then return row.lasts / 1e6 end
end

local function start_of(one)
  local row = one.row
  local options = { key = row.key, business_key = row.business_key,
    correlation = row.correlation, by = row.started_by, tenant = row.tenant,
    metadata = row.metadata, deadline = lasts_of(row),
    attributes = attributes_of(one) }
  if type(row.metadata) == "table" and not next(row.metadata) then
    options.metadata = nil
  end
  if options.deadline and options.deadline % 1 == 0 then
    options.deadline = math.tointeger(options.deadline)
  end
  local given = { row.workflow }
  if row.input ~= nil then given[2] = row.input end
  if next(options) then
    given[2] = given[2] == nil and {} or given[2]
    given[3] = options
  end
  return (call("local id = assert(engine:start", table.unpack(given))) .. ")"
end

---- the run -------------------------------------------------------------------

--- Runs at each of the times.
local function flush(lines, waiting)
  if #waiting == 0 then return end
  for i, us in ipairs(waiting) do waiting[i] = literal.raw(time(us)) end
  local text = call("engine:run_at", table.unpack(waiting))
  if #text > WIDTH and #waiting > 1 then
    local list = literal.of(waiting, 4)
    text = "    engine:run_at(table.unpack " .. list .. ")"
  end
  lines[#lines + 1] = text
  for i = #waiting, 1, -1 do waiting[i] = nil end
end

local function stands(one, row)
  local node = one.nodes[row.node]
  return node and (row.type == "received" or row.type == "task")
    and (node.kind == "wait" or node.kind == "task") and not node.host
    and not node.on
end

--- What somebody did, and where it is to stand by then.
local function act_of(lines, one, op)
  local row = op.row
  if row and stands(one, row) and not op.early then
    lines[#lines + 1] = call("assert.waiting_at", literal.raw "engine", ID,
      row.node)
  end
  local said = row and acts.say(one, row) or acts.say_deed(one, op.deed)
  table.move(said, 1, #said, #lines + 1, lines)
end

local function run_of(one, line)
  local lines, waiting, at = {}, {}, one.row.created_at
  for _, op in ipairs(line.operations) do
    if op.kind == "wake" then
      if op.us > at or op.is_held or op.is_late then
        waiting[#waiting + 1] = op.us
      elseif #lines == 0 then
        lines[1] = "    engine:run_until_idle()"
      end
    else
      flush(lines, waiting)
      if op.us > at and not op.early then
        -- letters come first, whatever is due by then
        lines[#lines + 1] = ("    clock:jump_to %s"):format(time(op.us))
      end
      act_of(lines, one, op)
      if op.runs and not op.joined then
        lines[#lines + 1] = "    engine:run_until_idle()"
      end
    end
    if not op.early then at = math.max(at, op.us) end
  end
  flush(lines, waiting)
  return lines
end

---- where it went -------------------------------------------------------------

local function size(value) return #(core.json_encode(value) or "") end

local ENGINE <const> = literal.raw "engine"

local function status_of(lines, one)
  local row = one.row
  if row.status == "completed" then
    lines[#lines + 1] = call("assert.completed", ENGINE, ID)
  elseif row.status == "failed" then
    lines[#lines + 1] = call("assert.failed", ENGINE, ID,
      row.error and row.error.code or "script")
  elseif row.status == "cancelled" or row.status == "suspended" then
    lines[#lines + 1] = ("    assert.equal(%s, engine:get(id).status)")
      :format(literal.text(row.status))
  end
  if row.status == "suspended" then return end
  for _, token in ipairs(timeline.standing(one)) do
    local node = one.nodes[token.node]
    if token.state == "waiting" and not (node and node.host) then
      lines[#lines + 1] = call("assert.waiting_at", ENGINE, ID, token.node)
    end
  end
end

--- Its variables, but for those that are too large to be read.
local function variables_of(one)
  local out, large = {}, {}
  for name, value in pairs(one.variables) do
    if size(value) > LONGEST then
      large[#large + 1] = name
    else
      out[name] = value
    end
  end
  table.sort(large)
  return out, large
end

local function assertions_of(one)
  local lines = {}
  status_of(lines, one)
  lines[#lines + 1] = call("assert.path", ENGINE, ID,
    core.array(asserts.path_of(one.history)))
  local vars, large = variables_of(one)
  if next(vars) then
    lines[#lines + 1] = call("assert.vars", ENGINE, ID, vars)
  end
  if #large > 0 then
    comment(lines, ("too large to be repeated here: %s"):format(
      table.concat(large, ", ")), "    --")
  end
  if one.row.output ~= nil and size(one.row.output) <= LONGEST then
    lines[#lines + 1] = call("assert.output", ENGINE, ID, one.row.output)
  end
  local undone = {}
  for _, row in ipairs(one.history) do
    if row.type == "undone" then undone[#undone + 1] = row.node end
  end
  if #undone > 0 then
    lines[#lines + 1] = call("assert.compensated", ENGINE, ID, undone)
  end
  return lines
end

---- the text ------------------------------------------------------------------

local function header_of(one, line, file)
  local lines, row = {}, one.row
  local version = one.flow and (" (version %d)"):format(row.version) or ""
  comment(lines, ("What %s, an instance of %s%s, went through from %s on; "
    .. "written by `pawl spec`."):format(row.id, row.workflow, version,
    core.time_format(row.created_at):sub(1, 16) .. "Z"))
  comment(lines, "Handlers of steps, undos and children do not run: what they "
    .. "gave is replayed. What else runs, runs as it is: choices, keys, "
    .. "matches, times, outputs. What steps emitted, started and signalled is "
    .. "in no history.")
  if one.flow and one.flow.source then
    comment(lines, ("The source that ran: `pawl workflow show %s %d --source "
      .. "> %s`."):format(row.workflow, row.version, file))
  else
    comment(lines, ("Its workflow was built by a program: no source of it is "
      .. "stored, and %s is to be that."):format(file))
  end
  for _, what in ipairs(keys(line.unknown)) do
    comment(lines, "NOT REPEATED HERE: " .. what .. ". Where it matters, the "
      .. "spec goes another way.")
  end
  if one.is_masked then
    comment(lines, ("MASKED%s. What decides by that goes another way."):format(
      one.masks and ": " .. table.concat(one.masks, ", ") or ""))
  end
  return table.concat(lines, "\n")
end

local function title_of(one)
  local row = one.row
  local said = { completed = "completes", failed = "fails",
    cancelled = "is cancelled", suspended = "is suspended" }
  return ("%s as %s"):format(said[row.status] or "goes on", row.id:sub(-12))
end

local function body_of(one, line, file)
  local lines = {}
  local run, told = run_of(one, line), assertions_of(one)
  local clock = table.concat(run, "\n"):find("clock:", 1, true) and ", clock"
    or ""
  lines[1] = ("    local engine <close>%s = test.engine {\n      load = %s,\n"
    .. "      clock = test.clock %s,\n    }"):format(clock, literal.text(file),
    time(one.row.created_at))
  doubles_of(lines, "replay", with_a_step(one, line.steps))
  doubles_of(lines, "replay_undo", line.undos)
  doubles_of(lines, "replay_workflow", line.children)
  lines[#lines + 1] = ""
  lines[#lines + 1] = start_of(one)
  table.move(run, 1, #run, #lines + 1, lines)
  lines[#lines + 1] = ""
  table.move(told, 1, #told, #lines + 1, lines)
  return table.concat(lines, "\n")
end

--- The spec of an instance that was read.
---@param one pawl.RecordedInstance
---@param file? string  of its workflow
---@return string text
function spec.text(one, file)
  if one.is_trimmed then
    recorded.fail("the history of %s was trimmed (`keep_history`): how it "
      .. "began is not known any more", "a spec is made of a whole history",
      one.row.id)
  end
  file = file or spec.file_of(one.row.workflow)
  local line = timeline.of(one)
  local body = body_of(one, line, file)
  local needs = body:find("pawl.", 1, true) and 'local pawl = require "pawl"\n'
    or ""
  return ("%s\n%slocal test = require \"pawl.testing\"\n\ndescribe(%s, "
    .. "function()\n  it(%s, function()\n%s\n  end)\nend)\n"):format(
    header_of(one, line, file), needs,
    literal.text("an instance of " .. one.row.workflow),
    literal.text(title_of(one)), body)
end

---- where it comes from -------------------------------------------------------

--- The lines of an instance, and of the children that its history says nothing
--- of.
local function exported(engine, id, mask)
  local function must(value, err)
    if value == nil then error(err, 0) end
    return value
  end
  local text = must(engine:export(id, { mask = mask }))
  local one = recorded.read(text)
  local more = {}
  for _, code in ipairs(recorded.each_codes(one)) do
    for _, child in ipairs(must(engine:list { parent = one.row.id,
      workflow = code, sort = "oldest", limit = 10000 })) do
      more[#more + 1] = must(engine:export(child.id, { mask = mask }))
    end
  end
  return text .. table.concat(more), one.row.id
end

--- Lines with masks are made by a store: they are put into one for that.
local function masked(text, one, mask)
  local engine <close> = require("pawl.testing").engine {
    clock = require("pawl.testing").clock(one.at / 1e6) }
  assert(engine:import(text, { copy = true }))
  return exported(engine, one.row.id, mask)
end

local SHAPE <const> = { load = { "string" }, mask = { "table" } }

--- Reads an instance: of an engine's store, or of lines that were exported.
---@param from pawl.Engine|string
---@param id? string
---@param options? pawl.SpecOptions
---@return pawl.RecordedInstance
function spec.read(from, id, options)
  local mask = options and options.mask
  local text, own = from, id
  if type(from) ~= "string" then
    text, own = exported(from, id, mask)
  elseif mask then
    text, own = masked(from, recorded.read(from, id), mask)
  end
  local one = recorded.read(text, own)
  one.masks = mask
  return one
end

--- Writes the spec of an instance. Raises what is wrong.
---@param from pawl.Engine|string  an engine, or lines that were exported
---@param id? string  of lines that have one instance it may be left out
---@param options? pawl.SpecOptions
---@return string text
function spec.write(from, id, options)
  caller.check("test.spec", 1, "recorded", from)
  caller.check("test.spec", 2, type(from) == "string" and "instance?"
    or "instance", id)
  local given = caller.read("test.spec", SHAPE, options)
  return spec.text(spec.read(from, id, given), given.load)
end

--- Runs what was written, without busted.
---@param text string
---@return boolean passes
---@return string? why  it does not
function spec.check(text)
  local function now(_, fn) fn() end
  local chunk, why = load(text, "=spec", "t", setmetatable({ describe = now,
    it = now, assert = asserts.plain() }, { __index = _G }))
  if not chunk then return false, why end
  local ok, err = pcall(chunk)
  return ok, not ok and tostring(err) or nil
end

return spec

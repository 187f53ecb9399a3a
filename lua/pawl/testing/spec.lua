--- An instance that was, written down as a spec: where it went is what is
--- asserted, what its handlers gave is replayed.
local asserts = require "pawl.testing.asserts"
local core = require "pawl.core"
local keys = require "pawl.keys"
local literal = require "pawl.testing.literal"
local option = require "pawl.option"
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

--- `name(first, ...)` with values, the last one below if need be.
local function call(name, ...)
  local given = table.pack(...)
  local front = "    " .. name .. "("
  for i = 1, given.n do
    local last = front:match "[^\n]*$"
    front = front .. (i > 1 and ", " or "")
      .. literal.of(given[i], 4, #last - 4 + 2)
  end
  return front .. ")"
end

local ID <const> = literal.raw "id"

---- what stands in ------------------------------------------------------------

-- Members of an attempt that are no part of what is written.
local INNER <const> = { visit = true, i = true, row = true, begun = true,
  index = true }

local DIGITS <const> =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function from_base64(text)
  local bits, n, out = 0, 0, {}
  for digit in text:gmatch "[%w+/]" do
    bits, n = bits << 6 | DIGITS:find(digit, 1, true) - 1, n + 6
    if n >= 8 then
      n = n - 8
      out[#out + 1] = string.char(bits >> n & 255)
    end
  end
  return table.concat(out)
end

local TYPED <const> = { decimal = true, date = true, binary = true }

--- An attribute as Lua sets it.
local function attribute(kind, value)
  if not TYPED[kind] then return value end
  if kind == "binary" then value = from_base64(value) end
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

local function start_of(one)
  local row = one.row
  local options = { key = row.key, business_key = row.business_key,
    correlation = row.correlation, by = row.started_by, tenant = row.tenant,
    metadata = row.metadata, deadline = row.lasts and row.lasts / 1e6,
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

---- what was done to it -------------------------------------------------------

--- Who asked, and why.
local function asked(row, more)
  local out = more or {}
  out.by, out.reason = row.by, row.text ~= "" and row.text or nil
  return out
end

local function change(method, options)
  if not next(options) then return { call("engine:" .. method, ID) } end
  return { call("engine:" .. method, ID, options) }
end

local SAY <const> = {}

local function signal(row, name, data)
  local event = row.changes and row.changes.event or {}
  local given = { name = name, data = data, by = row.by }
  -- a token of ctx.callback is no key that another store could know
  if event.key and event.key ~= event.id then
    given.key = event.key
  else
    given.instance = ID
  end
  return { call("engine:signal", given) }
end

function SAY.received(_, row) return signal(row, row.text, row.output) end

function SAY.rescheduled(one, row)
  local node = one.nodes[row.node]
  local into = node and (type(node.reschedule) == "table"
    and node.reschedule.into or node.moved_into)
  local set = row.changes and row.changes.set
  return signal(row, row.text, into and set and set[into])
end

function SAY.cancelled(one, row)
  local name = tostring(row.text):match '^by event "(.*)"$'
  local noted = one.row.cancellation or {}
  if name then
    return { call("engine:signal", { name = name, instance = ID }) }
  end
  return change("cancel", asked(row, { compensate = noted.compensate }))
end

function SAY.killed(_, row) return change("kill", asked(row)) end
function SAY.suspended(_, row) return change("suspend", asked(row)) end
function SAY.resumed(_, row) return change("resume", asked(row)) end
function SAY.retried(_, row) return change("retry", asked(row)) end
function SAY.woken(_, row) return change("wake", asked(row)) end

function SAY.restarted(_, row)
  return change("restart", asked(row, { from = row.path,
    variables = row.changes and row.changes.set }))
end

function SAY.moved(one, row)
  local tokens = {}
  for _, other in ipairs(one.history) do tokens[other.token or 0] = true end
  tokens[0] = nil
  local first = next(tokens)
  return change("move", asked(row, { to = row.path,
    token = first and next(tokens, first) and row.token or nil }))
end

function SAY.changed(_, row)
  local changes = row.changes
  if not changes then return {} end -- it was so already
  return change("edit", asked(row, { set = changes.set,
    unset = changes.unset and #changes.unset > 0 and changes.unset or nil }))
end

---- of tasks

--- In what he has to be that the task is for him.
local function in_role(task, by)
  local roles, groups = {}, {}
  for _, owner in ipairs(task and task.owners or {}) do
    if owner.kind == "user" and owner.id == by then return nil, nil end
    local list = owner.kind == "role" and roles or owner.kind == "group"
      and groups or {}
    list[#list + 1] = owner.id
  end
  return #roles > 0 and roles or nil, #groups > 0 and groups or nil
end

--- The call of a change of a task that is open at a node.
local function on_task(one, method, node, visit, options)
  local several = 0
  for at in pairs(one.tasks) do
    if at:match "^(.*)/%d+$" == node then several = several + 1 end
  end
  local at = ("engine:task_at(id, %s%s)"):format(literal.text(node),
    several > 1 and ", " .. visit or "")
  return { (call("assert(engine.tasks:" .. method, literal.raw(at), options))
    .. ")" }
end

local function acting(one, row, options)
  local tasks = one.tasks[("%s/%d"):format(row.node, row.visit)]
  options.by = row.by or "somebody"
  options.roles, options.groups = in_role(tasks and tasks[1], row.by)
  if tostring(row.text):find "instead of " then options.override = true end
  return options
end

function SAY.task(one, row)
  return on_task(one, "complete", row.node, row.visit, acting(one, row, {
    take = row.transition, output = row.output }))
end

function SAY.failed(one, row)
  return on_task(one, "fail", row.node, row.visit, acting(one, row, {
    error = { code = row.error.code ~= "script" and row.error.code or nil,
      message = row.error.message } }))
end

--- What no history tells: claimed, given back, handed on.
local function say_deed(one, deed)
  local entry, task = deed.entry, deed.task
  local options = { by = entry.by, to = entry.to }
  options.roles, options.groups = in_role(task, entry.by)
  if entry.instead_of then options.override = true end
  return on_task(one, entry.what, task.node, task.visit, options)
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
  local said = row and SAY[row.type](one, row) or say_deed(one, op.deed)
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
  local given, why = option.read("spec", SHAPE, options)
  if not given then error(why, 3) end
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

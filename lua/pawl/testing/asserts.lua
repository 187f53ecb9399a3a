--- Assertions about instances, for luassert, and what is told of one that is
--- not as it should be: where it went, what it holds, what it waits for.
local core = require "pawl.core"
local duration = require "pawl.duration"
local caller = require "pawl.testing.caller"
local keys = require "pawl.keys"
local snapshot = require "pawl.testing.snapshot"

local asserts = {}

---- what happened ------------------------------------------------------------

-- Rows of a history that end a visit, or an attempt of one.
local VISITS <const> = { step = true, received = true, timer = true,
  task = true, child = true, each = true, timeout = true, failed = true }

local function history(engine, id)
  local rows, err = engine:history(id)
  if not rows then caller.fail("%s", tostring(err)) end
  return rows
end

--- Of each visit its last row, in the order in which they ended.
local function visits(rows)
  local last, out = {}, {}
  for i, row in ipairs(rows) do
    if VISITS[row.type] and row.visit then last[row.visit] = i end
  end
  for i, row in ipairs(rows) do
    if row.visit and last[row.visit] == i then out[#out + 1] = row end
  end
  return out
end

--- The nodes that an instance has passed, in order: what did something, or
--- waited, and choices; neither forks nor joins.
---@param rows table[]  of a history
---@return string[]
function asserts.path_of(rows)
  local out = {}
  for _, row in ipairs(visits(rows)) do
    out[#out + 1] = row.node
    for choice in (row.path or ""):gmatch "([%w_]+)=" do
      out[#out + 1] = choice
    end
  end
  return out
end

---@return string[]
function asserts.path(engine, id)
  caller.instance("test.path", engine, id)
  return asserts.path_of(history(engine, id))
end

local function shown(value)
  if value == nil then return "nothing" end
  return core.json_encode(value) or tostring(value)
end

local function instance_of(who, engine, id)
  caller.instance(who, engine, id)
  local instance, err = engine:get(id)
  if not instance then caller.fail("%s", tostring(err)) end
  return instance
end

local function ended_by(err)
  if type(err) ~= "table" then return nil end
  return ("  error: %s: %s%s"):format(err.code or "?", err.message or "",
    err.where and " (" .. err.where .. ")" or "")
end

--- What has become of an instance, in lines.
---@return string
function asserts.story(engine, id)
  local one = instance_of("test.story", engine, id)
  local lines = {
    ("instance %s of %s is %s"):format(id, one.workflow, one.status),
    "  path: " .. table.concat(asserts.path(engine, id), " > "),
    "  variables: " .. shown(one.variables),
  }
  if one.output ~= nil then
    lines[#lines + 1] = "  output: " .. shown(one.output)
  end
  lines[#lines + 1] = ended_by(one.error)
  if not one.times.completed then
    for _, line in ipairs(assert(engine:explain(id)).sentences) do
      lines[#lines + 1] = "  " .. line
    end
  end
  return table.concat(lines, "\n")
end

---- comparing ----------------------------------------------------------------

local function equal(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not equal(value, b[key]) then return false end
  end
  for key in pairs(b) do if a[key] == nil then return false end end
  return true
end

--- What of `expected` is not so in `found`, a line for each name.
local function differences(expected, found)
  local lines = {}
  for _, name in ipairs(keys(expected)) do
    local wants = expected[name]
    if wants == core.null then wants = nil end
    if not equal(wants, found[name]) then
      lines[#lines + 1] = ("  %s: expected %s, is %s"):format(name,
        shown(wants), shown(found[name]))
    end
  end
  return lines
end

local function holds(expected, found)
  if type(expected) ~= "table" or type(found) ~= "table" then
    return equal(expected, found)
  end
  return #differences(expected, found) == 0
end

---- assertions ---------------------------------------------------------------

-- Each gets engine, id, the instance, two arguments more, and whether it is
-- negated; it gives whether it is so, and what should be, for what is said when
-- it is not; and lines of its own.
local CHECKS <const> = {}

-- What each is given besides, see pawl.testing.caller.
local TAKES <const> = { completed = {}, failed = { "string?" },
  waiting_at = { "node" }, path = { "nodes" }, vars = { "variables" },
  output = { "value" }, emitted = { "string", "value?" },
  task_for = { "string", "node?" }, compensated = { "nodes?" },
  ran_times = { "node", "times" }, due_in = { "time", "node?" },
  history = { "file" } }

function CHECKS.completed(_, _, one)
  return one.status == "completed", "completed"
end

function CHECKS.failed(_, _, one, code)
  local is = one.status == "failed"
    and (code == nil or one.error and one.error.code == code)
  return is, code and ("failed with '%s'"):format(code) or "failed"
end

function CHECKS.waiting_at(engine, id, _, node)
  local found = false
  for _, token in ipairs(assert(engine:tokens(id))) do
    found = found or token.node == node and token.state == "waiting"
  end
  return found, ("waiting at '%s'"):format(tostring(node))
end

function CHECKS.path(engine, id, _, nodes)
  return equal(nodes, asserts.path(engine, id)),
    "on the path " .. table.concat(nodes, " > ")
end

function CHECKS.vars(_, _, one, expected)
  local lines = differences(expected, one.variables)
  return #lines == 0, "with the variables " .. shown(expected), lines
end

function CHECKS.output(_, _, one, expected)
  local wants = "with the output " .. shown(expected)
  if expected ~= core.null then return equal(expected, one.output), wants end
  return one.status == "completed"
    and (one.output == nil or one.output == core.null), wants
end

--- Events of an instance; those that were published are gone from there.
local function emitted(engine, id)
  return assert(engine.outbox:list { instance = id, limit = 1000 })
end

function CHECKS.emitted(engine, id, _, name, payload)
  local lines, found = {}, false
  for _, row in ipairs(emitted(engine, id)) do
    lines[#lines + 1] = ("  emitted: %s %s"):format(row.type,
      shown(row.payload))
    found = found or row.type == name
      and (payload == nil or holds(payload, row.payload))
  end
  if #lines == 0 then lines[1] = "  emitted: nothing" end
  return found, ("one that has emitted %s %s"):format(tostring(name),
    payload ~= nil and shown(payload) or ""), lines
end

local function is_in(list, who)
  for _, one in ipairs(list) do if one == who then return true end end
  return false
end

local function is_for(task, who)
  return task.assignee == who or task.claimed_by == who
    or is_in(task.users, who) or is_in(task.roles, who)
    or is_in(task.groups, who)
end

function CHECKS.task_for(engine, id, _, who, node)
  local lines, found = {}, false
  for _, task in ipairs(assert(engine.tasks:list { instance = id })) do
    if not task.completed then
      lines[#lines + 1] = ("  task: %s at %s, for %s"):format(task.title,
        task.node, shown { users = task.users, roles = task.roles,
          groups = task.groups, assignee = task.assignee })
      found = found or is_for(task, who) and (not node or node == task.node)
    end
  end
  if #lines == 0 then lines[1] = "  task: none is open" end
  return found, ("one with a task for '%s'"):format(tostring(who)), lines
end

function CHECKS.compensated(engine, id, _, nodes)
  local undone = {}
  for _, row in ipairs(history(engine, id)) do
    if row.type == "undone" then undone[#undone + 1] = row.node end
  end
  local lines = { "  undone: " .. (#undone > 0 and table.concat(undone, ", ")
    or "nothing") }
  if nodes == nil then return #undone > 0, "compensated", lines end
  return equal(nodes, undone), "compensated: " .. table.concat(nodes, ", "),
    lines
end

function CHECKS.ran_times(engine, id, _, node, times)
  local n = 0
  for _, row in ipairs(history(engine, id)) do
    if row.node == node and VISITS[row.type] then n = n + 1 end
  end
  return n == times, ("one where '%s' ran %s times"):format(tostring(node),
    tostring(times)), { ("  '%s' ran %d times"):format(tostring(node), n) }
end

function CHECKS.due_in(engine, id, _, time, node)
  local us = duration.parse(time)
  local now, lines, found = engine:now(), {}, false
  local late_us = require("pawl.testing.engine").late_us(engine)
  for _, token in ipairs(assert(engine:tokens(id))) do
    if token.due and (not node or node == token.node) then
      local left = core.time_parse(token.due) - math.floor(now * 1e6 + 0.5)
      lines[#lines + 1] = ("  %s is due in %.6g s"):format(token.node,
        left / 1e6)
      found = found or left <= us and left >= us - late_us
    end
  end
  if #lines == 0 then lines[1] = "  nothing is due" end
  return found, "due in " .. tostring(time), lines
end

--- A file that is not there is written, and all are when specs are told to.
function CHECKS.history(engine, id, _, path, _, is_negated)
  local is, lines = snapshot.compare(engine, id, path, not is_negated)
  for i, line in ipairs(lines) do lines[i] = "  " .. line end
  lines[#lines + 1] = "  PAWL_WRITE=1, or `pawl test --write`, writes it anew"
  return is, ("as in %s (-), and it went otherwise (+):"):format(path), lines
end

---- as luassert has them -----------------------------------------------------

--- Is there such a node, in what is loaded, in the instance's own version, or
--- in one by which it went before? And those that there are.
local function has_node(engine, id, one, name)
  local loaded = require("pawl.testing.engine").nodes(engine, one.workflow)
  if loaded and loaded[name] then return true end
  local known, graph = {}, engine.workflows:graph(one.workflow,
    one.version > 0 and one.version or nil)
  if not graph then return true end
  for _, node in ipairs(graph.nodes) do known[node.name] = true end
  for _, row in ipairs(history(engine, id)) do
    if row.node then known[row.node] = true end
  end
  return known[name] ~= nil, known
end

--- Raises where one is named that is not there: that nobody waits there, or has
--- run it, would be true.
local function check_nodes(who, engine, id, one, names)
  for _, name in ipairs(names) do
    local is, known = has_node(engine, id, one, name)
    if not is then caller.no_node(who, name, known) end
  end
end

--- Raises what of it is no such thing.
local function check_arguments(name, is_negated, one, arguments)
  local who, engine, id = "assert." .. name, arguments[1], arguments[2]
  for i, kind in ipairs(TAKES[name]) do
    local value = arguments[i + 2]
    caller.check(who, i + 2, kind, value)
    if kind:find "^node%f[^%a]" and value then
      check_nodes(who, engine, id, one, { value })
    elseif kind:find "^nodes" and is_negated then
      check_nodes(who, engine, id, one, value or {})
    end
  end
end

local function assertion(name)
  return function(state, arguments)
    local engine, id = arguments[1], arguments[2]
    local one = instance_of("assert." .. name, engine, id)
    check_arguments(name, not state.mod, one, arguments)
    local is, wants, lines = CHECKS[name](engine, id, one,
      arguments[3], arguments[4], not state.mod)
    if is == (state.mod or false) then return is end -- a story takes a while
    local text = { ("expected %s%s"):format(state.mod and "" or "not ",
      wants) }
    for _, line in ipairs(lines or {}) do text[#text + 1] = line end
    text[#text + 1] = asserts.story(engine, id)
    state.failure_message = table.concat(text, "\n")
    return is
  end
end

--- Without luassert: a table that can be called, as `assert` can, and has them
--- and `equal`. What does not hold is raised.
function asserts.plain()
  local own = { equal = function(wanted, is)
    if wanted == is then return end
    error(("expected %s, is %s"):format(shown(wanted), shown(is)), 2)
  end }
  for name in pairs(CHECKS) do
    local check = assertion(name)
    own[name] = function(...)
      local state = { mod = true }
      if not check(state, table.pack(...)) then
        error(state.failure_message, 2)
      end
    end
  end
  return setmetatable(own, { __call = function(_, ...) return assert(...) end })
end

--- Their names, sorted.
function asserts.names() return keys(CHECKS) end

--- Makes them known to luassert.
function asserts.register(luassert)
  for name in pairs(CHECKS) do
    luassert:register("assertion", name, assertion(name))
  end
end

return asserts

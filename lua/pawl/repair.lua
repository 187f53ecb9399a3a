--- Methods of an engine that change instances and workflows from outside.
local core = require "pawl.core"
local option = require "pawl.option"

--- Raises at the caller's caller, naming function and option.
local function read(where, shape, options)
  local out, why = option.read(where, shape, options)
  if not out then error(why, 3) end
  return out
end

local function check_text(name, value, arg)
  if type(value) ~= "string" then
    error(("bad argument #%d to '%s' (string expected, got %s)"):format(
      arg or 1, name, value == nil and "no value" or type(value)), 3)
  end
end

--- Names as a JSON array, also where there are none.
local function name_list(value)
  if type(value) == "string" then return core.array { value } end
  if type(value) ~= "table" then return nil end
  for _, name in ipairs(value) do
    if type(name) ~= "string" then return nil end
  end
  return core.array(table.move(value, 1, #value, 1, {}))
end

local NAMES = { name_list, wants = "a name or a list of names" }

local function named(stored)
  return { name_list, stored, wants = NAMES.wants }
end

--- A list is no object, and would be stored as one that is empty.
local function object(value)
  if type(value) ~= "table" or #value > 0 then return nil end
  return value
end

local function shape(more)
  local out = { by = { "string" }, reason = { "string" } }
  for name, rule in pairs(more) do out[name] = rule end
  return out
end

local TOKEN, BOOLEAN = { "positive" }, { "boolean" }
local OBJECT = { object, wants = "a table with names" }
local COMMITS = { function(value)
  local n = option.check.integer(value)
  if n and n >= 0 then return n end
end, wants = "an integer, 0 or more" }

---- one instance ------------------------------------------------------------

--- By method: the kind of change, and its options.
local changes = {
  suspend = { "suspend", shape {} },
  resume = { "resume", shape { shift = BOOLEAN } },
  retry = { "retry", shape { token = TOKEN } },
  restart = { "restart", shape { from = { "string", "node" },
    seq = { "positive" } } },
  move_token = { "move", shape { to = { "string", "node" }, token = TOKEN } },
  edit = { "edit", shape { set = OBJECT, unset = NAMES, version = COMMITS } },
  kill = { "kill", shape {} },
  wake = { "wake", shape { nodes = NAMES, node = named "nodes",
    at = { "instant" } } },
  cancel = { "cancel", shape { who = { "string", "by" },
    compensate = BOOLEAN, source = { "string" },
    event_id = { "string" } } },
}

local function change(self, name, id, options)
  local kind, known = table.unpack(changes[name])
  local given = read(name, known, options)
  given.kind = kind
  return core.engine_change(self, id, given)
end

---- workflows ---------------------------------------------------------------

local target_shape = shape { workflow = { "string" }, prefix = { "string" },
  shift = BOOLEAN }

local function whole(self, kind, options, more)
  if more ~= nil then
    error(kind .. ": options go into the one table, beside workflow or prefix",
      3)
  end
  local given = read(kind, target_shape, options)
  if (given.workflow == nil) == (given.prefix == nil) then
    error(kind .. ": give an instance's id, or { workflow = code } or "
      .. "{ prefix = \"billing.\" }", 3)
  end
  given.kind = kind
  return core.engine_workflow_change(self, given)
end

local version_shape = shape {}

local function set_active(self, kind, code, version, options)
  check_text(kind, code)
  if not option.check.count(version) then
    error(("bad argument #2 to '%s' (a version expected, got %s)"):format(
      kind, type(version)), 3)
  end
  local given = read(kind, version_shape, options)
  given.kind, given.workflow, given.version = kind, code, version
  return core.engine_workflow_change(self, given)
end

---- moving to another version -----------------------------------------------

local PAGE = 500

local move_shape = shape { map = OBJECT, vars = { "callable" } }

local function read_move(name, code, from, to, options)
  check_text(name, code)
  if not option.check.count(from) or not option.check.count(to) then
    error(("bad argument #%d to '%s' (a version expected)"):format(
      option.check.count(from) and 3 or 2, name), 3)
  end
  local given = read(name, move_shape, options)
  local vars = given.vars
  given.vars = nil
  given.workflow, given.from, given.to, given.limit = code, from, to, PAGE
  if given.map and next(given.map) == nil then given.map = nil end
  return given, vars
end

--- Pages of what would move and what could not.
local function pages(self, move)
  local done = false
  return function()
    if done then return nil end
    local report, err = core.engine_move(self, move, false)
    if not report then
      done = true
      return false, err
    end
    move.after, done = report.next, report.next == nil
    return report
  end
end

local function asked(move)
  return { workflow = move.workflow, from = move.from, to = move.to,
    map = move.map, limit = move.limit }
end

--- What somebody's function has raised, in words.
local function raised(value)
  if type(value) ~= "table" then return tostring(value) end
  local meta = getmetatable(value)
  if meta and meta.__tostring then return tostring(value) end
  if type(value.message) == "string" then return value.message end
  return core.json_encode(value) or tostring(value)
end

--- The new variables, or nil and why there are none.
local function transform(vars, instance)
  local ok, value = pcall(vars, instance.variables, instance)
  if not ok then return nil, "vars failed: " .. raised(value) end
  if not object(value) then
    return nil, "vars gave a " .. type(value)
      .. ", not a table of variables"
  end
  local text, err = core.json_encode(value)
  if not text then
    return nil, "vars gave what cannot be stored: " .. tostring(err)
  end
  return value
end

local function migrate(self, id, move, given, values, commits)
  return core.engine_change(self, id, { kind = "migrate",
    to_version = move.to, map = move.map, variables = values,
    if_version = values and commits, by = given.by, reason = given.reason })
end

--- Codes that say: not this one.
local refusals = { invalid = true, conflict = true, limit = true, value = true }

--- One instance: into one of the lists. false, err: the store is in the way.
local function move_one(self, id, move, given, vars, lists)
  local values, commits
  if vars then
    local instance, err = self:get(id)
    if not instance then
      if err.code == "notfound" then return true end
      return false, err
    end
    local why
    values, why = transform(vars, instance)
    if not values then
      table.insert(lists.refused, { id = id, reason = why })
      return true
    end
    commits = instance.commits
  end
  if lists.plan then
    table.insert(lists.moved, id)
    return true
  end
  local ok, done = migrate(self, id, move, given, values, commits)
  if ok then
    table.insert(done and lists.moved or lists.asked, id)
  elseif refusals[done.code] then
    table.insert(lists.refused, { id = id, reason = done.message })
  elseif done.code ~= "already_finished" then
    return false, done
  end
  return true
end

local function move_all(self, given, vars, plan)
  local move = asked(given)
  local lists = { plan = plan, moved = {}, asked = {}, refused = {} }
  for report, err in pages(self, move) do
    if not report then return nil, err end
    table.move(report.refused, 1, #report.refused, #lists.refused + 1,
      lists.refused)
    for _, id in ipairs(report.movable) do
      local ok, why = move_one(self, id, move, given, vars, lists)
      if not ok then return nil, why end
    end
  end
  return lists
end

---- the methods -------------------------------------------------------------

local load_shape = shape { hotfix = BOOLEAN, why = { "string", "reason" } }
local health_shape = { repair = BOOLEAN }
local list_shape = { workflow = { "string" }, live = BOOLEAN }

---@param methods table  of an engine; added to
return function(methods)
  for name in pairs(changes) do
    methods[name] = function(self, id, options)
      check_text(name, id)
      return change(self, name, id, options)
    end
  end

  function methods:cancel(id, why)
    check_text("cancel", id)
    if type(why) == "string" then why = { reason = why } end
    return change(self, "cancel", id, why)
  end

  function methods:suspend(id, options)
    if type(id) == "table" then
      return whole(self, "suspend", id, options)
    end
    check_text("suspend", id)
    return change(self, "suspend", id, options)
  end

  function methods:resume(id, options)
    if type(id) == "table" then
      return whole(self, "resume", id, options)
    end
    check_text("resume", id)
    return change(self, "resume", id, options)
  end

  function methods:activate(code, version, options)
    return set_active(self, "activate", code, version, options)
  end

  function methods:deactivate(code, version, options)
    return set_active(self, "deactivate", code, version, options)
  end

  function methods:health(options, how)
    local given = read("health", health_shape, options)
    return core.engine_health(self, given.repair, how)
  end

  function methods:workflows(query, how)
    local given = read("workflows", list_shape, query)
    return core.engine_workflows(self, next(given) and given or nil, how)
  end

  function methods:load(flow, options)
    local given = read("load", load_shape, options)
    if not given.hotfix then
      if given.by or given.reason then
        error("load: options 'by' and 'why' go with hotfix = true", 2)
      end
      return core.engine_load(self, flow)
    end
    given.hotfix = nil
    return core.engine_hotfix(self, flow, next(given) and given or nil)
  end

  function methods:plan_move(code, from, to, options)
    local given, vars = read_move("plan_move", code, from, to, options)
    local lists, err = move_all(self, given, vars, true)
    if not lists then return nil, err end
    return lists.refused, lists.moved
  end

  function methods:move(code, from, to, options)
    local given, vars = read_move("move", code, from, to, options)
    local lists, err = move_all(self, given, vars, false)
    if not lists then return nil, err end
    return lists.moved, lists.refused, lists.asked
  end
end

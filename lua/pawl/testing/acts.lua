--- What somebody did to an instance, as the call that does it again.
local literal = require "pawl.testing.literal"

local acts = {}

local call = literal.call

--- The instance's, in a spec.
acts.ID = literal.raw "id"

local ID = acts.ID

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

--- The calls of what a row of history tells that somebody did.
---@param one pawl.RecordedInstance
---@param row table
---@return string[]
function acts.say(one, row) return SAY[row.type](one, row) end

--- Those of what no history tells: claimed, given back, handed on.
---@param one pawl.RecordedInstance
---@param deed { task: table, entry: table }
---@return string[]
function acts.say_deed(one, deed)
  local entry, task = deed.entry, deed.task
  local options = { by = entry.by, to = entry.to }
  options.roles, options.groups = in_role(task, entry.by)
  if entry.instead_of then options.override = true end
  return on_task(one, entry.what, task.node, task.visit, options)
end

return acts

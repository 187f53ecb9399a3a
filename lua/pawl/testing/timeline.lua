--- What has to be done, and when, for an instance to go once more where it
--- went: from its rows of history. Pure.
---
---   rows ──► what handlers did, by node, visit and attempt   (doubles)
---       ╰──► operations: wake (the clock is moved there, and what is due runs)
---                        act  (somebody did something to it)
---
--- Rows are in the order in which they were stored, and so is what is made of
--- them: an event comes when it was taken, not when it was sent.
local core = require "pawl.core"
local Operations = require "pawl.testing.operations"
local recorded = require "pawl.testing.recorded"

local timeline = {}

---@class pawl.Timeline
---@field operations pawl.Operation[]
---@field steps table<string, table[]>     attempts, by node
---@field undos table<string, table[]>
---@field children table<string, table[]>  outcomes, by workflow
---@field unknown table<string, true>      what is not known, in words

---- which row is what ---------------------------------------------------------

-- Rows that come as the time for them has come.
local WAKING <const> = { timer = true, timeout = true, escalated = true,
  deadline = true }

-- What somebody did to it.
local ACTS <const> = { received = true, task = true, cancelled = true,
  killed = true, suspended = true, resumed = true, retried = true,
  restarted = true, moved = true, changed = true, woken = true,
  rescheduled = true }

-- What was done, and cannot be done again from what is known.
local UNKNOWN <const> = {
  transferred = "it went on in another version of its workflow",
  shifted = "its times were put off, by how much is not in a history",
  put_off = "a task was put off by a person",
  refused = "a request or an event was refused",
  rescheduled = "an event moved a time: what it brought is known where `into` "
    .. "keeps it, and else not",
  carried = "it was carried to another store, and went on there or here",
}

local SOON <const> = 1000000 -- microseconds, in which a worker takes a letter

-- What else shows that a worker was at it.
local RAN <const> = { started = true, routed = true, each = true,
  condition = true, compensated = true, dropped = true }

local ENDED <const> = { completed = true, failed = true, cancelled = true }

local function kind_of(one, row)
  local node = one.nodes[row.node]
  return node and node.kind
    or (row.type == "step" or row.type == "failed") and "step" or nil
end

local function is_undo(row)
  return row.type == "undone" or row.type == "undo_failed"
    or row.type == "failed" and row.text == "undoing"
end

local function is_run(one, row)
  return (row.type == "step" or row.type == "failed" and not is_undo(row))
    and row.visit and kind_of(one, row) == "step"
end

local function is_over_time(row)
  return row.type == "failed" and row.error and row.error.code == "timeout"
    and tostring(row.error.message):find "took longer than its timeout" ~= nil
end

local function is_child(one, row)
  return kind_of(one, row) == "call" and not is_over_time(row)
    and (row.type == "child" or row.type == "failed")
end

local function is_act(one, row)
  if row.type == "failed" then
    return row.by ~= nil and kind_of(one, row) == "task"
  end
  if row.type == "suspended" and row.error then return false end
  return ACTS[row.type]
end

---- what handlers did ---------------------------------------------------------

local function same(a, b) return core.json_encode(a) == core.json_encode(b) end

--- Attributes as handlers set them.
local function attributes_of(changes)
  local attrs
  for name, one in pairs(changes.attributes or {}) do
    attrs = attrs or {}
    attrs[name] = one.to == nil and core.null or one.to
  end
  return attrs
end

local function copied(list, without)
  local out
  for name, value in pairs(list or {}) do
    if name ~= without then
      out = out or {}
      out[name] = value
    end
  end
  return out
end

--- Was it said that it is not to be tried again? Where the attempts were used
--- up, or the error's code has a way, it need not be.
local function retry_of(node, row)
  if row.due_at then
    local jitter = node and node.retry and node.retry.jitter
    if jitter == 0 then return nil end
    return math.max(row.due_at - row.completed_at, 0) / 1e6
  end
  local max = node and node.retry and node.retry.max
  if row.transition or max and row.attempt >= max then return nil end
  return false
end

--- A handler that waited and was told that its instance is cancelled.
local function was_told(row)
  return row.error and row.error.code == "cancelled"
    and tostring(row.error.message):find "^instance %S+ is cancelled$" ~= nil
end

local function attempt_of(one, row)
  local node = one.nodes[row.node]
  if was_told(row) then return { visit = row.visit, under_way = true } end
  local changes = row.changes or {}
  local entry = { visit = row.visit, at = row.completed_at, row = row,
    goes = not row.error and row.transition or nil, returns = row.output,
    attrs = attributes_of(changes), unset = changes.unset }
  local into = node and node.into
  if into and not same((changes.set or {})[into], row.output) then
    into = nil
  end
  entry.vars = copied(changes.set, into)
  if row.error then
    entry.code, entry.message = row.error.code or "script", row.error.message
    entry.details = row.error.details
    entry.retry = retry_of(node, row)
  end
  return entry
end

local function add(lists, name, entry)
  lists[name] = lists[name] or {}
  table.insert(lists[name], entry)
  return entry
end

--- Those of a visit behind each other, visits in their order.
local function by_visit(list)
  for i, entry in ipairs(list) do entry.i = i end
  table.sort(list, function(a, b)
    if a.visit ~= b.visit then return a.visit < b.visit end
    return a.i < b.i
  end)
  for i, entry in ipairs(list) do
    entry.again = i > 1 and list[i - 1].visit == entry.visit or nil
  end
end

---- children ------------------------------------------------------------------

local OF_PARENT <const> = { "^the child failed: ",
  "^the child was cancelled: " }

--- What a parent's row says of how its child ended. `before`: the attempt in
--- front of it.
local function outcome_of(row, before)
  local out = { visit = row.visit, at = row.completed_at,
    begun = before and before.due_at or row.started_at }
  local error, status = row.error, row.transition
  if row.type == "child" and not error then
    out.output = row.output
    out.cancelled = status == "cancelled" or nil
    return out
  end
  local message = error and error.message or ""
  for _, front in ipairs(OF_PARENT) do message = message:gsub(front, "") end
  local code = error and error.code or "script"
  if status == "cancelled" or code == "child_cancelled" then
    out.cancelled = true
  else
    out.code = code == "child_failed" and "script" or code
    out.message = message ~= "" and message or nil
  end
  return out
end

--- The same from the child itself, of which the parent's history tells nothing.
local function ended_as(child)
  local row = child.row
  local place = row.parent_place or {}
  local out = { begun = row.created_at, visit = place.visit or 0,
    index = place.index }
  local noted = row.cancellation
  if not ENDED[row.status] or noted and noted.source == "parent" then
    out.under_way = true -- as long as its parent was
    return out
  end
  out.at, out.cancelled = row.completed_at, row.status == "cancelled" or nil
  if row.status == "completed" then out.output = row.output end
  if row.status == "failed" then
    out.code = row.error and row.error.code or "script"
    out.message = row.error and row.error.message
  end
  return out
end

--- Those that its nodes started for items.
local function children_of_items(one, line)
  for _, child in ipairs(one.children) do
    local place = child.row.parent_place
    local node = place and one.nodes[place.node]
    if node and node.kind == "each" then
      local out = add(line.children, child.row.workflow, ended_as(child))
      if out.at then line.marks[#line.marks + 1] = { us = out.at } end
    end
  end
  if #recorded.each_codes(one) > 0 and #one.children == 0 then
    line.unknown["the children of an `each`: they are not among its lines"] =
      true
  end
end

--- In the order in which they were started.
local function by_begin(list)
  table.sort(list, function(a, b)
    if a.begun ~= b.begun then return (a.begun or 0) < (b.begun or 0) end
    if a.visit ~= b.visit then return a.visit < b.visit end
    return (a.index or 0) < (b.index or 0)
  end)
end

---- what comes between rows ---------------------------------------------------

-- Of a task's log, what can be said again.
local DEEDS <const> = { claim = true, unclaim = true, delegate = true }

--- What people did to tasks that no row of history tells.
local function deeds_of(one, line)
  for _, tasks in pairs(one.tasks) do
    for _, task in ipairs(tasks) do
      for _, entry in ipairs(task.log and task.log.log or {}) do
        local us = DEEDS[entry.what] and core.time_parse(entry.at)
        if us then
          line.marks[#line.marks + 1] = { us = us,
            deed = { task = task, entry = entry } }
        elseif entry.what == "reassign" or entry.what == "escalate" then
          line.unknown["a task was given to others by a person"] = true
        end
      end
    end
  end
end

--- When handlers were run again.
local function begins_of(one, line)
  local last = {}
  for _, row in ipairs(one.history) do
    if is_run(one, row) or is_undo(row) then
      local at = ("%s/%d"):format(row.node, row.visit or 0)
      local before = last[at]
      if before and before.due_at then
        line.marks[#line.marks + 1] = { behind = before.seq, run = row,
          us = row.started_at or before.due_at } -- it may have been woken
      end
      last[at] = row
    end
  end
end

--- Is the mark's place in front of this row? Of one time it comes behind the
--- others, but for the row that it led to.
local function is_before(mark, row)
  if mark.deed then
    local task = mark.deed.task
    return mark.us < row.completed_at or mark.us == row.completed_at
      and (row.type == "cancelled" or row.type == "killed"
        or row.node == task.node and row.visit == task.visit)
  end
  if not mark.run then
    return mark.us < row.completed_at
      or mark.us == row.completed_at and row.type == "each"
  end
  return mark.behind < row.seq
    and (mark.us < row.completed_at or mark.run == row)
end

--- Rows, and between them what no row tells, in its place.
local function events_of(one, line)
  table.sort(line.marks, function(a, b) return a.us < b.us end)
  local out, left = {}, line.marks
  for _, row in ipairs(one.history) do
    local later = {}
    for _, mark in ipairs(left) do
      local list = is_before(mark, row) and out or later
      list[#list + 1] = mark
    end
    left = later
    out[#out + 1] = { row = row }
  end
  return table.move(left, 1, #left, #out + 1, out)
end

---- operations ----------------------------------------------------------------

local function handled(one, line, row)
  local lists = is_undo(row) and line.undos or line.steps
  local entry = add(lists, row.node, attempt_of(one, row))
  local node = one.nodes[row.node]
  line.tried[row.visit] = row
  line.operations.undoes[row] = is_undo(row) or nil
  line.operations:handler(row, entry, not (node and node.transactional))
  if not entry.waits and row.completed_at <= line.clock then entry.at = nil end
end

--- When it was sent, where a time has passed until it was taken: what comes
--- later than a time loses against it.
local function sent_at(one, row)
  if row.type == "received" then
    return row.due_at and row.due_at < row.completed_at and row.due_at or nil
  end
  local tasks = one.tasks[("%s/%d"):format(row.node or "", row.visit or 0)]
  local task = tasks and (row.type == "task" or row.type == "failed")
    and tasks[1]
  local us = task and task.completed_at
  return us and row.completed_at - us > SOON and us or nil
end

local function passed(one, line, row)
  local operations = line.operations
  if UNKNOWN[row.type] then line.unknown[UNKNOWN[row.type]] = true end
  if is_act(one, row) then
    operations:act(row, sent_at(one, row))
  elseif is_run(one, row) or is_undo(row) then
    handled(one, line, row)
  else
    if is_child(one, row) then
      add(line.children, one.nodes[row.node].workflow,
        outcome_of(row, line.tried[row.visit]))
      line.tried[row.visit] = row
      operations:wake(row.completed_at)
    elseif WAKING[row.type] or is_over_time(row) then
      operations:wake(row.completed_at)
    elseif RAN[row.type] then
      operations:ran(row.completed_at)
    end
    operations:note(row)
  end
  line.clock = math.max(line.clock, row.completed_at)
end

local function between(line, mark)
  local operations = line.operations
  if mark.deed then
    operations:deed(mark.us, mark.deed)
  else
    local op = operations:wake(mark.us)
    if mark.run then operations.began[mark.run] = op end
  end
  line.clock = math.max(line.clock, mark.us)
end

---- what had not ended --------------------------------------------------------

--- Tokens that live: { node, state, visit, entered_at, due_us }.
---@param one pawl.RecordedInstance
---@return table[]
function timeline.standing(one)
  local row, out = one.row, {}
  if ENDED[row.status] then return out end
  if row.token_no and row.token_no > 0 then
    out[1] = { node = row.node, state = row.token_state, visit = row.visit,
      entered_at = row.entered_at, due_us = row.token_due_at }
  end
  for _, token in ipairs(one.tokens) do
    if token.state == "active" or token.state == "waiting" then
      out[#out + 1] = { node = token.node, state = token.state,
        visit = token.visit, entered_at = token.entered_at,
        due_us = token.due_at }
    end
  end
  return out
end

--- Those that were dropped on the way, as all are when it ends before them.
local function dropped(one)
  local row, out = one.row, {}
  for _, token in ipairs(one.tokens) do
    if token.state == "dropped" then
      out[#out + 1] = { node = token.node, state = "dropped",
        visit = token.visit, entered_at = token.entered_at }
    end
  end
  if #one.tokens == 0 and ENDED[row.status] then
    out[1] = { node = row.node, state = "dropped", visit = row.visit,
      entered_at = row.entered_at }
  end
  return out
end

--- A child or a handler of which no row tells an end.
local function had_not_ended(one, line, token)
  local node = one.nodes[token.node]
  local kind = node and node.kind
  local before = line.tried[token.visit]
  if before and not before.due_at then return end
  if kind == "call" and token.state ~= "active" then
    add(line.children, node.workflow, { visit = token.visit,
      begun = before and before.due_at or token.entered_at,
      under_way = true })
  elseif kind == "step" and token.state ~= "waiting"
    and (not token.due_us or token.due_us <= line.clock) then
    add(line.steps, token.node, { visit = token.visit, under_way = true })
  end
end

local function under_way(one, line)
  if one.row.status ~= "suspended" then
    for _, token in ipairs(timeline.standing(one)) do
      had_not_ended(one, line, token)
    end
  end
  for _, token in ipairs(dropped(one)) do had_not_ended(one, line, token) end
end

--- What waited through a suspension, and had a time: was that moved along?
local function may_have_been_shifted(one, line)
  local resumed
  for _, row in ipairs(one.history) do
    if row.type == "resumed" then resumed = row end
    if resumed and row.due_at and row.started_at and row.type ~= "failed"
      and row.started_at < resumed.completed_at then
      line.unknown["it was resumed: whether its times were moved along "
        .. "(--shift) is in no history"] = true
    end
  end
end

---- all of it -----------------------------------------------------------------

--- Rows of handlers, by node; of a step that never ran none.
local function runs_of(one)
  local runs = {}
  for name, node in pairs(one.nodes) do
    if node.kind == "step" then runs[name] = {} end
  end
  for _, row in ipairs(one.history) do
    if is_run(one, row) then
      runs[row.node] = runs[row.node] or {}
      table.insert(runs[row.node], row)
    end
  end
  return runs
end

---@param one pawl.RecordedInstance
---@return pawl.Timeline
function timeline.of(one)
  local row, first = one.row, one.history[1]
  local line = { steps = {}, undos = {}, children = {}, unknown = {},
    marks = {}, tried = {}, clock = row.created_at,
    operations = Operations.new(runs_of(one)) }
  children_of_items(one, line)
  deeds_of(one, line)
  begins_of(one, line)
  if row.started_at and not (first and is_act(one, first)) then
    line.clock = math.max(row.started_at, row.created_at)
    line.operations.base = line.operations:wake(line.clock)
  end
  for _, event in ipairs(events_of(one, line)) do
    if event.row then
      passed(one, line, event.row)
    else
      between(line, event)
    end
  end
  under_way(one, line)
  may_have_been_shifted(one, line)
  for _, lists in ipairs { line.steps, line.undos } do
    for _, list in pairs(lists) do by_visit(list) end
  end
  for _, list in pairs(line.children) do by_begin(list) end
  line.operations = line.operations.list
  return line
end

return timeline

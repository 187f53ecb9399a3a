--- task: waits for somebody to do something.
local boundary = require "pawl.boundary"
local problem = require "pawl.problem"
local shape = require "pawl.shape"
local words = require "pawl.words"

local fail = problem.fail

---@class pawl.TaskOptions
---@field title string  what is to be done, in a line
---@field next? string|table<string, string>  a node, or outcomes by name; beside
---                              these `overdue`, `timeout` and `failed`;
---                              left out: the node written behind it
---@field description? string  the same at length
---@field form? string  a name that those who show it know
---@field input? table  what they are shown
---@field metadata? table  what others keep with it
---@field priority? "low"|"normal"|"high"|"urgent"  "normal"
---@field due? number|string|fun(ctx: pawl.Ctx): number|string|nil  within which
---                              time it should be done
---@field assignee? string  who is to do it
---@field user? string|string[]  who may take it; the same as `users`
---@field users? string|string[]  who may take it; nobody named: anybody
---@field role? string|string[]  the same as `roles`
---@field roles? string|string[]  whose role may take it
---@field group? string|string[]  the same as `groups`
---@field groups? string|string[]  whose group may take it
---@field accepts? pawl.Types  what the output must be: to complete it with
---                              another is refused, and it stays open
---@field signal? string  the event that is raised when it is done
---@field timeout? number|string|fun(ctx: pawl.Ctx): number|string|nil  how long
---                              it waits; without a `timeout` transition it
---                              then fails with that code
---@field reschedule? string|pawl.Reschedule  an event that has `due` and `timeout`
---                              worked out anew: a name, a pattern, or
---                              `{ event=, key=, into= }`
---@field escalate? pawl.EscalateOptions  what changes when it is overdue:
---                              `priority`, and for whom it is as well
---@field prepare? fun(ctx: pawl.Ctx): table?  replaces fields of the above when
---                              the task is made
---@field into? string  the variable that takes the output
---@field undo? fun(ctx: pawl.Ctx)  takes back what was done
---@field retry? pawl.Retry|integer|false  when it fails, as a step; default: once
---@field on_error? table<string, string>  by error code; "*" any other
---@field on_timer? pawl.BoundaryTimer|pawl.BoundaryTimer[]  what happens at a
---                              time, while it stands there: `{ after=, every=,
---                              at=, run=, next=, interrupt=, name= }`
---@field on_event? pawl.BoundaryEvent|pawl.BoundaryEvent[]  the same of events:
---                              `{ event=, key=, match=, answer=, into=, ... }`

---@class pawl.EscalateOptions
---@field user? string|string[]  the same as `users`
---@field users? string|string[]  who may take it as well
---@field role? string|string[]  the same as `roles`
---@field roles? string|string[]  whose role may as well
---@field group? string|string[]  the group of executors that runs it; "default"
---@field groups? string|string[]  whose group may as well
---@field priority? "low"|"normal"|"high"|"urgent"  what that becomes

---@class pawl.Workflow
---@field task fun(self: pawl.Workflow, name: string, options: pawl.TaskOptions): pawl.Workflow

---- what may be said ---------------------------------------------------------

--- What the inbox item is made of, and `prepare` may replace; who may take it
--- aside. Kept apart from the node's own fields.
local ITEM = {
  title = shape.text,
  description = shape.text,
  form = shape.text,
  input = shape.table,
  metadata = shape.table,
  priority = shape.priority,
  due = shape.duration,
  assignee = shape.person,
}

--- Those, and what else is said: a new table.
local function item_with(more)
  return shape.for_people(shape.with(ITEM, more))
end

local OVERRIDES = item_with {}
local ESCALATE = shape.for_people { priority = shape.priority }

local function is_escalate(value, what)
  if type(value) ~= "table" then
    fail('{ role = "manager", priority = "urgent" }',
      "%s must be a table, not %s", what, problem.given(value))
  end
  local escalate = shape.read(value, ESCALATE, what)
  shape.gather_people(escalate, escalate, what)
  if not next(escalate) then fail(nil, "%s is empty", what) end
  return escalate
end

--- What `prepare` returns is written like the task itself, and put into the
--- graph's units like that. What is no table, the host refuses.
local function overriding(prepare, whose)
  whose = ("what 'prepare' of %s returned"):format(whose)
  return function(ctx)
    local own = prepare(ctx)
    if type(own) ~= "table" then return own end
    own = shape.read(own, OVERRIDES, whose)
    shape.gather_people(own, own, whose)
    return own
  end
end

--- Not for people to take: the engine does.
local NO_OUTCOME = { overdue = true, timeout = true, failed = true }

local function check_outcomes(node, whose)
  if type(node.next) ~= "table" then return end
  for name in pairs(node.next) do
    if not NO_OUTCOME[name] then return end
  end
  fail('next = { approved = "a", rejected = "b", ... }',
    "'next' of %s has no outcome that a person can take", whose)
end

local function check(node, whose)
  local may_be_due = node.due or node.prepare
  if node.title == "" then fail(nil, "'title' of %s is empty", whose) end
  check_outcomes(node, whose)
  shape.moved(node, whose, { "due", "timeout" })
  shape.cause(node, whose, "overdue", "due", may_be_due)
  if node.escalate and not may_be_due then
    fail('due = "2d"', "%s has 'escalate', which is for a task that is "
      .. "overdue, but no 'due'", whose)
  end
  local task = { signal = node.signal }
  node.signal = nil
  for field in pairs(ITEM) do
    if not shape.is_called(node[field]) then -- `due` may be
      task[field], node[field] = node[field], nil
    end
  end
  shape.gather_people(node, task, whose)
  node.task = task
  if node.prepare then node.prepare = overriding(node.prepare, whose) end
end

---- what it waits for --------------------------------------------------------

local function person(who)
  if who.kind == "anybody" then return "anybody" end
  return who.kind .. " " .. words.quoted(who.id)
end

--- Those who may do it; who has to resume it first is no one of them.
local function people_of(token)
  local people = {}
  for _, who in ipairs(token.may) do
    if who.kind ~= "operator" then people[#people + 1] = person(who) end
  end
  return words.any_of(people)
end

--- Who it may be, as options: a user by name, else one of a role or a group.
local function as_whom(token)
  local by = {}
  for _, who in ipairs(token.may) do by[who.kind] = by[who.kind] or who.id end
  if by.user then return "--by " .. words.word(by.user) end
  if by.role then return "--by NAME --role " .. words.word(by.role) end
  if by.group then return "--by NAME --group " .. words.word(by.group) end
  return "--by NAME"
end

--- The command that completes it, and what else may be taken.
local function completion(token, w)
  local names = words.way_of(token, "person").outcomes or {}
  local others = {}
  for i = 2, #names do
    others[i - 1] = "`--take " .. words.word(names[i]) .. "`"
  end
  return ("`pawl task complete %s %s%s` moves it%s"):format(w.task,
    w.claimed_by and "--by " .. words.word(w.claimed_by) or as_whom(token),
    names[1] and " --take " .. words.word(names[1]) or "",
    #others > 0 and " (or " .. words.any_of(others) .. ")" or "")
end

--- Its status, and who can do what about it.
local function standing(token, w)
  local title = words.quoted(w.title)
  if w.status == "failed" then
    return ("the task %s has failed%s; `pawl task retry %s` opens it again.")
      :format(title, w.error and " with " .. words.error(w.error) or "",
      w.task)
  elseif w.claimed_by then
    return ("it waits for %s, who has claimed the task %s; %s."):format(
      words.quoted(w.claimed_by), title, completion(token, w))
  end
  return ("it waits for %s to do the task %s; %s."):format(people_of(token),
    title, completion(token, w))
end

local function due(data, token, w)
  local to = words.way_of(token, "overdue").to
  return (w.overdue and " It is overdue since %s" or " It is due at %s")
    :format(words.when(data, w.due))
    .. (to and " and then goes to " .. words.quoted(to) or "") .. "."
end

local function not_made(data)
  for _, letter in ipairs(data.inbox) do
    if letter.kind == "task" then
      return "its task has been dealt with; a worker takes that up next."
    end
  end
  return "its task is about to be created."
end

local function sentence(data, token, w)
  if not w.task then return not_made(data) end
  local text = standing(token, w)
  if w.accepts then
    text = text .. (" Its output is to be %s."):format(words.types(w.accepts))
  end
  if w.due then text = text .. due(data, token, w) end
  if w.escalated then
    text = text .. (" It was escalated %s."):format(
      words.when(data, w.escalated))
  end
  if words.way_of(token, "resume").what then
    text = text .. " First an operator has to resume the instance."
  end
  return text .. words.timeout_of(data, token) .. words.moved_by(data, w)
end

---@type pawl.Kind
return {
  fields = item_with {
    signal = shape.event,
    accepts = shape.types,
    due = shape.asked_duration,
    timeout = shape.asked_limit,
    reschedule = shape.reschedule,
    escalate = is_escalate,
    prepare = shape.handler,
    into = shape.name,
    undo = shape.handler,
    next = shape.next,
    on_error = shape.on_error,
    retry = shape.retry,
    on_timer = boundary.on_timer,
    on_event = boundary.on_event,
  },
  needs = { { "title", 'title = "Approve the order"' } },
  follows = true,
  check = check,
  receives = true,
  waits_for = "person",
  mermaid = { "[/", "/]" },
  dot = "parallelogram",
  sentence = sentence,
}

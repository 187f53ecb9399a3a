--- A client of the torture, a program of its own: does its threads' actions,
--- each as often as it takes to get an answer. It notes in a journal what was
--- answered, so that one that was killed goes on where it stood, and repeats
--- what it may have done, under the same id.
---
---     lua client.lua PLAN JOURNAL URL [pooler]
---
--- It ends with 0 when all is done. What nobody should be told is printed.
local pawl = require "pawl"
local system = require "system"

local transient = { busy = true, unreachable = true, lease_lost = true,
  timeout = true, nomem = true, store = true, readonly = true }

local function read_file(path)
  local file <close> = io.open(path)
  return file and file:read "a"
end

local plan = assert(pawl.json.decode(assert(read_file(arg[1]))))
local options = { pooler = arg[4] == "pooler", create = false }
local engine

-- Beside the journal: journal2, answers2. One write each, so that none is cut
-- short.
local answers = assert(io.open((arg[2]:gsub("journal(%d+)$", "answers%1")),
  "a"))
answers:setvbuf "no"

local function note_told(what) answers:write(pawl.json.encode(what) .. "\n") end

---- actions -------------------------------------------------------------------

-- Each returns true when it is done, "later", or nil and an error.
local actions = {}

local function start_options(case)
  return { workflow = case.workflow, key = case.key, version = case.version,
    input = case.input }
end

-- Who is to be thrown away is found by its attributes.
local function more_options(case, id)
  return { key = case.key, version = case.version, id = id,
    attributes = id and { mark = case.key, own = id } }
end

-- A start may be repeated, so it is also how an id is found.
local function id_of(case)
  if case.found then return case.found end
  if case.by_event then return nil, { code = "invalid", message = "no id" } end
  local id, err = engine:start(case.workflow, case.input,
    more_options(case, case.id))
  if id then case.found = id end
  return id, err
end

local function instance_of(case)
  local id, err = id_of(case)
  if not id then return nil, err end
  return engine:get(id)
end

function actions.start(case) return id_of(case) end

---- who has ended is thrown away ----------------------------------------------

-- Where it is, as the model calls it.
local function place_of(case)
  local got, err = engine:get(case.id)
  if not got then
    if err.code == "notfound" then return "none" end
    return nil, err
  end
  return got.purged and "kept" or got.archived and "archive"
    or got.deleted and "deleted" or "hot"
end

-- The same by what it is found by, as all that are found so.
local function in_bulk(name, case, place, given)
  local is_purge = name == "purge"
  local report, err = engine:bulk(name, { attributes = { own = case.id },
    archived = is_purge and place == "archive" or nil,
    deleted = is_purge and place == "deleted" or nil }, given)
  if not report then return nil, err end
  return report.done > 0, report.refusals[1] or { code = "notfound" }
end

-- It is asked for until it is so; a conflict says that it lives, or that others
-- have not got what it said. What a bulk has not found has gone there already,
-- or comes.
local function throw(name, is_so)
  return function(case, action)
    local place, err = place_of(case)
    if not place then return nil, err end
    if is_so[place] then return true end
    local given = { by = "torture", keep_attributes = action.keep }
    local ok, why
    if action.bulk then
      ok, why = in_bulk(name, case, place, given)
    else
      ok, why = engine[name](engine, case.id, given)
    end
    if not ok and why.code ~= "conflict"
      and not ((name == "purge" or action.bulk) and why.code == "notfound") then
      return nil, why
    end
    return "later"
  end
end

actions.delete = throw("delete", { deleted = true })
actions.undelete = throw("undelete", { hot = true })
actions.archive = throw("archive", { archive = true })
actions.unarchive = throw("unarchive", { hot = true })
actions.purge = throw("purge", { none = true, kept = true })

-- Who starts with its key gets this one.
local function holder(id, is_whose)
  return function(case)
    local got, err = engine:start(case.workflow, case.input,
      more_options(case, case[id]))
    if not got then return nil, err end
    if got == case[is_whose] then return true end
    return nil, setmetatable({ code = "key" }, { __tostring = function()
      return ("%s has the key, not %s"):format(got, case[is_whose])
    end })
  end
end

actions.meet = holder("nobody", "id")
actions.inherit = holder("heir", "heir")

-- One that has ended meanwhile is not changed any more.
local function unless_ended(ok, err)
  if not ok and err.code == "already_finished" then return true end
  return ok, err
end

function actions.signal(case, action)
  local signal = { name = action.name, key = action.key, id = action.id,
    source = "torture", data = action.data }
  if case.by_event then
    signal.start = start_options(case)
  elseif action.is_addressed then
    local id, err = id_of(case)
    if not id then return nil, err end
    signal.instance = id
  end
  return unless_ended(engine:signal(signal))
end

--- Until all its children are there: what came before them is not theirs.
function actions.gather(case, action)
  local id, err = id_of(case)
  if not id then return nil, err end
  local list, why = engine:list { parent = id }
  if not list then return nil, why end
  return #list >= action.n or "later"
end

--- Until it stands there.
function actions.reach(case, action)
  local got, why = instance_of(case)
  if not got then return nil, why end
  for _, token in ipairs(got.tokens) do
    if token.node == action.node then return true end
  end
  return "later"
end

--- What it is told stands in a file, for the checker. What is bad may come when
--- nobody is there who would refuse it.
function actions.ask(case, action)
  local id, err = id_of(case)
  if not id then return nil, err end
  local answer, why = engine:ask(id, action.name, action.data,
    { event = action.id, timeout = 0 })
  local is_bad = action.data.bad
  if is_bad and not answer and why.code == "already_finished" then
    return true
  elseif not answer and not (is_bad and why.code == "as_told") then
    return nil, why
  end
  note_told { instance = id, event = action.id, value = answer,
    error = not answer and why.code or nil }
  return true
end

--- As soon as it has its token. Who was told that it was done before may have
--- done that itself, and its answer was lost.
function actions.complete(case, action)
  local got, why = instance_of(case)
  if not got then return nil, why end
  if not got.variables.token then return "later" end
  local is_first
  is_first, why = engine:complete(got.variables.token, { by = action.by })
  if is_first == nil then return nil, why end
  if is_first then note_told { instance = got.id, first = action.by } end
  return true
end

function actions.cancel(case)
  local id, err = id_of(case)
  if not id then return nil, err end
  return unless_ended(engine:cancel(id, "torture"))
end

-- An event that starts one, which nobody takes. One that asks again may find
-- it ended.
function actions.send(case, action)
  local start = more_options(case, case.id)
  start.workflow, start.input = case.workflow, case.input
  return unless_ended(engine:signal { name = action.name, id = action.id,
    source = "torture", start = start })
end

-- One that asks again, since the answer was lost, may be told that it is
-- suspended, or runs, already. One that was only asked of who holds the
-- instance is waited for: what follows would be told that it is not so yet.
local function unless_so(ok, err)
  if not ok and err.code == "conflict" then return true end
  return ok, err
end

local function change(name)
  return function(case, action)
    local id, err = id_of(case)
    if not id then return nil, err end
    local ok, why = engine[name](engine, id, { by = "torture",
      set = action.set })
    if name == "edit" then return unless_ended(ok, why) end
    if ok and name == "suspend" then
      local instance = engine:get(id)
      if not instance or instance.status ~= "suspended" then return "later" end
    end
    return unless_so(ok, why)
  end
end

actions.edit, actions.suspend = change "edit", change "suspend"

actions.resume = change "resume"

local function change_all(name)
  return function(_, action)
    return unless_so(engine.workflows[name](engine.workflows,
      { workflow = action.workflow, by = "torture" }))
  end
end

actions.suspend_all = change_all "suspend"
actions.resume_all = change_all "resume"

-- A note for each, once: those that could not have it now are asked again, and
-- the others know the request.
function actions.note_all(_, action)
  local report, err = engine:bulk("note", { workflow = action.workflow },
    { by = "torture", text = "seen", request = action.request })
  if not report then return nil, err end
  for _, refusal in ipairs(report.refusals) do
    if transient[refusal.code] then return "later" end
    if refusal.code ~= "conflict" and refusal.code ~= "notfound" then
      return nil, refusal
    end
  end
  return true
end

function actions.move(_, action)
  return engine.workflows:transfer(action.workflow, action.from, action.into,
    { map = action.map })
end

-- Of two people who are after it one has it; the other looks until it is done.
function actions.task(case, action)
  local id, err = id_of(case)
  if not id then return nil, err end
  local tasks
  tasks, err = engine.tasks:list { instance = id, status = { "pending",
    "running", "completed", "cancelled" } }
  if not tasks then return nil, err end
  local task = tasks[1]
  if not task then return "later" end
  if task.status == "completed" or task.status == "cancelled" then
    return true
  end
  local ok
  ok, err = engine.tasks:claim(task.id, { by = action.user })
  if ok then
    ok, err = engine.tasks:complete(task.id, { by = action.user,
      take = action.take, output = { by = action.user } })
  end
  if not ok and err.code == "taken" then return "later" end
  return unless_ended(ok, err)
end

---- the journal ---------------------------------------------------------------

local done = {}
for line in (read_file(arg[2]) or ""):gmatch "[^\n]+" do
  done[tonumber(line)] = (done[tonumber(line)] or 0) + 1
end
local journal = assert(io.open(arg[2], "a"))
journal:setvbuf "no"

local function is_done(no)
  return (done[no] or 0) == #plan.threads[no].actions
end

--- Everything else has happened to the case of this thread.
local function is_alone(no, thread)
  for other, one in ipairs(plan.threads) do
    if other ~= no and one.actions[1].to == thread.actions[1].to
      and not is_done(other) then
      return false
    end
  end
  return true
end

--- One action of a thread; how long until it wants to be asked again.
local function advance(no, thread)
  local action = thread.actions[(done[no] or 0) + 1]
  if not action then return nil end
  if thread.is_last and not is_alone(no, thread) then return 0.2 end
  local now = system.gettime() - plan.begun
  if (thread.due or action.at) > now then
    return (thread.due or action.at) - now
  end
  local ok, err = actions[action.op](plan.cases[action.to], action)
  if ok and ok ~= "later" then
    journal:write(no, "\n")
    done[no], thread.due = (done[no] or 0) + 1, nil
    return 0
  end
  if not ok and not transient[err.code] and not thread.has_told then
    print(("%s of %s: %s"):format(action.op, action.to, tostring(err)))
    thread.has_told = true
  end
  thread.due = now + 0.2
  return 0.2
end

local function round()
  local pause
  for no, thread in ipairs(plan.threads) do
    local wants = advance(no, thread)
    if wants and (not pause or wants < pause) then pause = wants end
  end
  return pause
end

io.stdout:setvbuf "line"
while not engine do
  engine = pawl.open(arg[3], options)
  if not engine then system.sleep(0.1) end
end
while true do
  local pause = round()
  if not pause then break end
  if system.gettime() > plan.begun + plan.limit then
    print "not all was done in time"
    os.exit(1)
  end
  if pause > 0 then system.sleep(math.min(pause, 0.2)) end
end

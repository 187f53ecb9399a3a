--- What `pawl run` needs besides running one instance: its descendants are run
--- too, and what all of them wait for is told.
local core = require "pawl.core"
local duration = require "pawl.duration"
local explain = require "pawl.later" "pawl.explain"
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local family = {}

local unfinished = { "created", "running", "waiting", "suspended" }
local page = 1000   -- descendants listed at once
local most_told = 5 -- descendants whose waits are told

---@class pawl.cli.Round
---@field moved boolean     something was done: look again
---@field due? number       when the next of them is due, seconds
---@field held boolean      another worker has one of them
---@field waiting boolean   a handler waits here
---@field rows table[]      the descendants that have not ended
---@field stranded table<string, boolean>  due, but nobody here knows them

--- All that descend from an instance and have not ended.
local function descendants(engine, id)
  local all, before = {}, nil
  repeat
    local rows = store.try(engine:list { root = id, status = unfinished,
      limit = page, before = before })
    for _, row in ipairs(rows) do
      if row.id ~= id then all[#all + 1] = row end
    end
    before = #rows == page and rows[page].id or nil
  until not before
  return all
end

--- Would it find its workflow? Else it waits for a worker that has it.
local function is_known(engine, known, row)
  if known[row.workflow] == nil then
    local graph, err = engine.workflows:graph(row.workflow)
    if not graph and err.code ~= "notfound" then error(err, 0) end
    known[row.workflow] = graph ~= nil
  end
  return known[row.workflow]
end

--- Runs each descendant as far as it goes.
---@param engine pawl.Engine
---@param id string
---@param meet fun(row: table)  told of each before it runs
---@return pawl.cli.Round? round
---@return pawl.Error? err
function family.run(engine, id, meet)
  local round = { moved = false, held = false, waiting = false, stranded = {},
    rows = descendants(engine, id) }
  local known = {}
  for _, row in ipairs(round.rows) do
    if not is_known(engine, known, row) then
      round.stranded[row.id] = true
    elseif row.status ~= "suspended" then
      meet(row)
      local status, stats = engine:tick_instance(row.id, 1)
      if not status then return nil, stats end
      local moved = stats.steps + stats.committed > 0
      round.moved = round.moved or moved
      round.held = round.held or status == "leased"
      round.waiting = round.waiting or stats.waiting > 0
      if status == "now" and not moved then round.stranded[row.id] = true end
      if status == "later" and stats.next_due then
        round.due = math.min(round.due or math.huge, stats.next_due)
      end
    end
  end
  return round
end

---- what is waited for ------------------------------------------------------

---@class pawl.cli.Told
---@field key string       the same while nothing has changed
---@field text string
---@field outside boolean  somebody outside moves it

local function timer_line(engine, token)
  local at = core.time_parse(token.waiting_for.at) / 1e6
  local now = engine:now()
  return ("%s %s waiting until %s (%s)"):format(token.kind,
    term.clean(token.node), format.due(at, now),
    duration.show(math.max(0, at - now)))
end

local function token_key(data, token)
  local w = token.waiting_for
  return table.concat({ data.id, token.no, token.visit, w.what, w.at or "",
    w.task or "", w.status or "", w.claimed_by or "", w.turned_down or "",
    w.escalated or "" }, " ")
end

local outside = { event = true, person = true }

local function add_waits(out, engine, id, name)
  local data = store.try(engine:explain(id))
  local prefix = name and ("%s of %s: "):format(id, name) or "waiting: "
  for _, sentence in ipairs(explain().held(data)) do
    out[#out + 1] = { key = id .. " held", text = prefix .. sentence,
      outside = true }
  end
  for _, token in ipairs(data.tokens) do
    local w = token.waiting_for
    if w.what == "time" and w.at then
      out[#out + 1] = { key = token_key(data, token), outside = false,
        text = timer_line(engine, token) }
    elseif outside[w.what] then
      out[#out + 1] = { key = token_key(data, token), outside = true,
        text = prefix .. explain().token(data, token) }
    end
  end
  return data
end

--- What an instance and its descendants wait for.
---@param engine pawl.Engine
---@param id string
---@param round pawl.cli.Round
---@return pawl.cli.Told[] told
---@return boolean alone  no other worker is there, who may know what we do not
---@return boolean held   it is suspended with all of its workflow
function family.waits(engine, id, round)
  local out = {}
  local root = add_waits(out, engine, id)
  for i = 1, math.min(#round.rows, most_told) do
    local row = round.rows[i]
    if round.stranded[row.id] then
      out[#out + 1] = { key = row.id .. " stranded", outside = true,
        text = ("waiting: its child %s is an instance of %s, which nobody "
          .. "here knows; `pawl worker FILE`, with the file of that "
          .. "workflow, runs it"):format(row.id, row.workflow) }
    else
      add_waits(out, engine, row.id, row.workflow)
    end
  end
  return out, root.workers <= 1, root.workflow_suspended ~= nil
end

return family

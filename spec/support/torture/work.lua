--- What the steps of the torture's workflows do. Each leaves the same marks,
--- so that the checker can count them against the history:
---
---     variables    n_NODE   + 1 for each run that was stored; u_NODE undone
---     outbox       one row  t.step or t.undo { node, mark }
---                  of a failure (on_failure) t.failed, and one of t.mend
---     ledger       one row  of a transactional step, by ctx.db
---
--- `mark` is the idempotency key, the same in all attempts of a visit. How
--- long a step takes, and how often it fails, stands in the instance's input:
--- pace ("wait", "block"; else none), fails = { NODE = attempts }, big = bytes.
local pawl = require "pawl"
local system = require "system"

local work = {}

--- More attempts than anything here fails, soon after each other: also of items
--- side by side, which count in one variable.
work.retry = { max = 20, base = 0.02, factor = 1, cap = 0.05, jitter = 0 }

--- Of workflows that may fail: an event, and an instance of flows/mend.lua.
work.on_failure = { emit = "t.failed", start = "t.mend" }

local function pace(ctx)
  local how = ctx.input.pace
  if how == "block" then
    system.sleep(0.015)
  elseif how == "wait" then
    ctx.await(0.01)
  end
end

local function leave_marks(ctx, prefix, kind)
  local name = prefix .. ctx.node
  ctx.vars[name] = (ctx.vars[name] or 0) + 1
  ctx.emit(kind, { node = ctx.node, mark = ctx.idempotency_key() })
end

-- A failed attempt has done everything, and nothing of it may stay.
local function fail_if_told(ctx)
  local attempts = ctx.input.fails and ctx.input.fails[ctx.node]
  if attempts and ctx.attempt <= attempts then
    error(("attempt %d of %s fails"):format(ctx.attempt, ctx.node), 0)
  end
end

-- More than a few KB: variables then have rows of their own.
local function grow(ctx)
  if ctx.input.big then
    ctx.vars.big = (ctx.node:sub(-1)):rep(ctx.input.big)
  end
end

function work.step(ctx)
  pace(ctx)
  leave_marks(ctx, "n_", "t.step")
  grow(ctx)
  fail_if_told(ctx)
end

--- An item of an each: its result is twice the item. A bad one fails for good.
function work.item(ctx)
  if ctx.input.bad and ctx.token.data.item <= ctx.input.bad then
    error { code = "t.bad" }
  end
  work.step(ctx)
  return nil, 2 * ctx.token.data.item
end

--- Adds up what an each has brought: what failed has its error, and what was
--- not waited for nothing.
function work.sum(ctx)
  work.step(ctx)
  local sum, failed, counted = 0, 0, 0
  for _, result in ipairs(ctx.vars.results) do
    if type(result) == "table" and result.error then
      failed = failed + 1
    elseif result ~= pawl.null then
      sum, counted = sum + result, counted + 1
    end
  end
  ctx.vars.sum, ctx.vars.failed, ctx.vars.results = sum, failed, nil
  ctx.vars.counted = counted
end

--- Page by page, each of which is told. An attempt that failed was at a page
--- that it had told; a worker that died had told of those before.
function work.read(ctx)
  local from = ctx.progress or 0
  if math.type(from) ~= "integer" or from < ctx.attempt - 1 then
    error { code = "t.lost", message = "it was at page " .. tostring(from),
      retry = false }
  end
  for page = from + 1, ctx.input.pages do
    if ctx.heartbeat(page) then return end
    fail_if_told(ctx)
    pace(ctx)
  end
  leave_marks(ctx, "n_", "t.step")
end

--- In a transactional step: a row of the ledger, and a row that a failure
--- takes back.
function work.book(ctx)
  ctx.db:query("insert into ledger (instance, node, mark) values ($1, $2, $3)",
    ctx.id, ctx.node, ctx.idempotency_key())
  leave_marks(ctx, "n_", "t.step")
  fail_if_told(ctx)
end

function work.undo(ctx)
  leave_marks(ctx, "u_", "t.undo")
  ctx.vars.undone = (ctx.vars.undone or "") .. ctx.node
end

--- Three branches of different kinds and a join; `pause` is a timer, `answer`
--- comes from outside.
---@param flow pawl.Workflow
---@param join pawl.JoinOptions
function work.fork(flow, join)
  flow:step("before", { run = work.step, next = "split" })
  flow:fork("split", { next = { "left", "pause", "answer" } })
  flow:step("left", { run = work.step, retry = work.retry, next = "meet" })
  flow:timer("pause", { after = 0.3, next = "middle" })
  flow:step("middle", { run = work.step, retry = work.retry, next = "meet" })
  flow:wait("answer", { event = "t.answer", key = "key", into = "answer",
    next = "right" })
  flow:step("right", { run = work.step, next = "meet" })
  flow:join("meet", join)
  flow:step("after", { run = work.step, next = "done" })
  flow:finish "done"
  return flow
end

--- Two steps; `retain` says what becomes of it then.
function work.brief(code, retain)
  local flow = pawl.workflow { code = code, start = "a", retain = retain }
  flow:step("a", { run = work.step, retry = work.retry, next = "b" })
  flow:step("b", { run = work.step, next = "done" })
  flow:finish "done"
  return flow
end

return work

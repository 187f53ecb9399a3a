--- The line to PostgreSQL is cut at each message of a run, in either direction:
--- nothing is lost, nothing is done twice.
---
--- PAWL_WIRE=all cuts at every message in every way (some minutes); else at
--- some of them, others each time, which a failure names.
local Cluster = require "spec.support.cluster"
local Cutter = require "spec.support.cutter"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local process = require "spec.support.process"
local system = require "system"
local tmp = require "spec.support.tmp"

local LEAF = pawl.workflow { code = "t.leaf", start = "l" }
LEAF:step("l", { run = function(ctx) ctx.vars.of = ctx.input end, next = "z" })
LEAF:finish "z"

--- Steps of all kinds: plain, transactional, in a fork, a child, and a wait.
local FLOW = pawl.workflow { code = "t.wire", start = "a" }
FLOW:step("a", { run = function(ctx)
  ctx.vars.n = 1
  ctx.emit("begun", {})
end, next = "b" })
FLOW:step("b", { transactional = true, run = function(ctx)
  ctx.db:query("insert into public.effects (instance) values ($1::uuid)",
    ctx.id)
  ctx.vars.n = ctx.vars.n + 1
end, next = "f" })
FLOW:fork("f", { next = { "x", "y" } })
FLOW:step("x", { run = function(ctx) ctx.vars.x = true end, next = "j" })
FLOW:step("y", { run = function(ctx)
  ctx.start("t.leaf", ctx.id, { key = "leaf-" .. ctx.id })
end, next = "j" })
FLOW:join("j", { expect = "all", next = "w" })
FLOW:wait("w", { event = "paid", key = function(ctx) return ctx.id end,
  timeout = "1d", next = { received = "z", timeout = "late" } })
FLOW:finish("z", { output = function(ctx) return ctx.vars.n end })
FLOW:finish("late", { status = "failed" })

local WAYS = {}
for _, side in ipairs { "client", "server" } do
  for _, how in ipairs { "before", "half", "whole" } do
    WAYS[#WAYS + 1] = { side = side, how = how }
  end
  WAYS[#WAYS + 1] = { side = side, how = "whole", late = true }
end

describe("a line that is cut", function()
  if not Cluster.wanted then
    pending "PAWL_TEST_PG is not set"
    return
  end
  local cluster, cutter, url, through, keys

  lazy_setup(function()
    cluster = Cluster.start()
    cutter = Cutter.start(tmp.dir(),
      ("%s/.s.PGSQL.%d"):format(cluster.dir, cluster.port))
    url = cluster.backend.url()
    through = cutter:url(url)
    assert(pawl.open(url)):close()
    assert(probe.sql(url, "create table public.effects (instance uuid)"))
    keys = 0
  end)
  lazy_teardown(function()
    cutter:stop()
    process.stop_all()
    cluster.backend.cleanup()
    cluster:stop()
  end)

  --- Calls until the store can be reached.
  local function try(fn)
    local deadline = system.monotime() + 20
    while true do
      local value, err = fn()
      if value ~= nil then return value end
      assert.truthy(err.code == "unreachable" or err.code == "busy", err)
      assert.is_true(system.monotime() < deadline, tostring(err))
    end
  end

  --- What there must be of an instance, each count by its name.
  local WANT = { completed = 1, leaves = 1, effects = 1, outbox = 1,
    steps = 4, nodes = 4, gaps = 0, agenda = 0, messages = 0, waits = 0 }
  local FOUND = [[select
    (select count(*) from pawl.instance where id = ID
        and status = 'completed' and output::text = '2') as completed,
    (select count(*) from pawl.instance where workflow = 't.leaf'
        and status = 'completed' and input::text = '"' || ID || '"') as leaves,
    (select count(*) from public.effects where instance = ID) as effects,
    (select count(*) from pawl.outbox where instance = ID) as outbox,
    (select count(*) filter (where type = 'step') from pawl.history
      where instance = ID) as steps,
    (select count(distinct node) filter (where type = 'step')
       from pawl.history where instance = ID) as nodes,
    (select max(seq) - count(*) from pawl.history
      where instance = ID) as gaps,
    (select count(*) from pawl.agenda where instance = ID) as agenda,
    (select count(*) from pawl.message where instance = ID) as messages,
    (select count(*) from pawl.subscription where instance = ID) as waits]]

  local function found(id)
    local row = kit.select(url, (FOUND:gsub("ID", "'" .. id .. "'::uuid")
      :gsub("|| ('[^']+')::uuid", "|| %1")))[1]
    for name, value in pairs(row) do row[name] = tonumber(value) end
    return row
  end

  --- What is only not done yet, such as a message to be delivered once more,
  --- is waited for; what was lost or doubled stays so.
  local function is_exact(id)
    for name, value in pairs(found(id)) do
      if value ~= WANT[name] then return false end
    end
    return true
  end

  --- From opening the store to the end of an instance, with all as it must be.
  local function run(pooler)
    keys = keys + 1
    local key = "k" .. keys
    local engine <close> = try(function()
      return pawl.open(through, { lease = 1, pooler = pooler, batch = 4 })
    end)
    try(function() return engine:load(LEAF) end)
    try(function() return engine:load(FLOW) end)
    local id = try(function()
      return engine:start("t.wire", {}, { key = key })
    end)
    try(function()
      return engine:signal { name = "paid", key = id, id = key }
    end)
    local deadline = system.monotime() + 20
    while try(function() return engine:get(id) end).status ~= "completed" or
          not is_exact(id) do
      if system.monotime() > deadline then
        assert.same(WANT, found(id))
        error "it does not end"
      end
      local stats = try(function() return engine:tick(1) end)
      if stats.claimed == 0 then system.sleep(0.01) end
    end
  end

  --- What an assertion says is in a table.
  local function told(raised)
    if type(raised) ~= "table" then return debug.traceback(raised) end
    return require "pl.pretty".write(raised.message or raised)
  end

  for _, pooler in ipairs { false, true } do
    it("loses and doubles nothing" .. (pooler and ", a pooler's" or ""),
      function()
        cutter:arm { side = "client", at = 1 << 30, how = "before" }
        run(pooler)
        local count = cutter:seen()
        local all = os.getenv "PAWL_WIRE" == "all"
        local per_way = pooler and 3 or 5
        local hits = 0
        for i, way in ipairs(WAYS) do
          local n = count[way.side]
          for k = 1, all and n or per_way do
            -- of parts of the same length, a message each
            local at = all and k or
              math.floor((k - math.random()) * n / per_way) + 1
            local plan = { side = way.side, at = at, how = way.how,
              late = way.late }
            cutter:arm(plan)
            local ok, why = xpcall(run, told, pooler)
            local seen = cutter:seen()
            if seen.hit then hits = hits + 1 end
            assert(ok, ("way %d, cut at message %d (%s) of the %s, %s%s: %s")
              :format(i, at, seen.hit or "none", way.side, way.how,
                way.late and ", late" or "", tostring(why)))
          end
        end
        assert.is_true(hits >= #WAYS, hits)
      end)
  end
end)

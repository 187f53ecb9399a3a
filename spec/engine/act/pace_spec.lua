-- How housekeeping keeps out of the way of others: how much one transaction
-- takes, and how much of the time it works.
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"

local function burn(seconds)
  local until_ = os.clock() + seconds
  while os.clock() < until_ do end
end

--- One that ends has a history of so many rows more.
local function long(backend, url, engine, n)
  local id = assert(engine:start "t.one")
  assert(engine:run())
  backend.sql(url, ([[insert into %s (shard, instance, seq, type,
    completed_at) with recursive n (i) as (
      select 1 union all select i + 1 from n where i < %d)
    select 0, %s, 1000 + i, 'note', %s from n]]):format(
    kit.table(backend, "history"), n, kit.id_literal(backend, id),
    backend.name == "postgres" and "now()" or "1"))
  return id
end

--- At each of the first passages of a point.
local function each(point, n)
  local list = {}
  for i = 1, n do list[i] = ("%s=call@%d"):format(point, i) end
  return table.concat(list, ",")
end

kit.describe("the pace of housekeeping", function(backend)
  after_each(function() probe.fault(nil) end)

  local function fresh()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    return engine, clock, url
  end

  --- Some end; so long later they are pruned, in units that take 20 ms.
  local function pruned(options, later)
    local engine, clock = fresh()
    for _ = 1, 3 do assert(engine:start "t.one") end
    assert(engine:run())
    clock:advance(later)
    options.retain = 0
    probe.fault("engine.pace.unit=call", function() burn(0.02) end)
    local report = assert(engine:prune(options))
    probe.fault(nil)
    assert.equal(3, report.instances.removed)
    return report.rested_us
  end

  it("works a small part of its time beside instances that go on", function()
    assert.is_true(pruned({}, 1) >= 19 * 20000)
  end)

  it("never rests where nothing has happened lately", function()
    assert.equal(0, pruned({}, "5m"))
  end)

  it("is as it is asked to be", function()
    local half = pruned({ share = 50 }, "5m")
    assert.is_true(half >= 20000, half)
    assert.equal(0, pruned({ share = 100 }, 1))
  end)

  it("is not slowed down by what pruning itself has counted", function()
    local engine, clock = fresh()
    for _ = 1, 3 do assert(engine:start "t.one") end
    assert(engine:run())
    clock:advance "5m"
    local archived = assert(engine:prune { retain = 0, archive = true })
    assert.equal(3, archived.instances.archived)
    probe.fault("engine.pace.unit=call", function() burn(0.02) end)
    assert.equal(0, assert(engine:prune { audit = 0 }).rested_us)
  end)

  it("keeps its place through a long one, also without any rest", function()
    local engine, clock, url = fresh()
    long(backend, url, engine, 2500)
    backend.sql(url, ("update %s set seq = 3500"):format(
      kit.table(backend, "instance")))
    clock:advance(1)
    local rival = kit.rival(backend, url, clock)
    local times, code = 0, nil
    probe.fault(each("engine.purge.batch", 2), function()
      times = times + 1
      if times == 1 then
        clock:advance(31)
      else
        code = (select(2, rival:prune { retain = 0 }) or {}).code
      end
    end)
    assert(engine:prune { retain = 0, share = 100 })
    probe.fault(nil)
    assert.same({ 2, "busy" }, { times, code })
  end)

  it("does not rest while it only counts", function()
    assert.equal(0, pruned({ dry_run = true, share = 1 }, 1))
  end)

  it("refuses a share that is none", function()
    local engine = fresh()
    for _, share in ipairs { 0, 1.5 } do
      local ok, why = pcall(engine.prune, engine, { share = share })
      assert.is_false(ok)
      assert.matches("option 'share' must be an integer", why)
    end
    kit.refused("invalid", "share", nil, engine:prune { share = 101 })
  end)

  it("ends its rest when it is interrupted", function()
    local engine, _, url = fresh()
    long(backend, url, engine, 3000)
    local slices = 0
    probe.fault("engine.pace.unit=call@1,engine.pace.rest=call@2",
      function(point)
        if point == "engine.pace.unit" then return burn(0.05) end
        slices = slices + 1
        engine:interrupt()
      end)
    local report = assert(engine:prune { retain = 0, share = 1 }) -- owes 5 s
    probe.fault(nil)
    assert.equal(1, slices)
    assert.is_false(report.finished)
    assert.is_true(report.rested_us < 2000000, report.rested_us)
    assert.is_true(assert(engine:prune { retain = 0 }).finished)
    assert.equal(0, kit.count(backend, url, "history"))
  end)

  it("stays the housekeeper while it rests", function()
    local engine, clock, url = fresh()
    local rival = kit.rival(backend, url, clock)
    assert(engine:start "t.one")
    assert(engine:run())
    probe.fault("engine.pace.unit=call@1,engine.pace.rest=call@1,"
      .. "engine.pace.rest=call@3", function(point)
        if point == "engine.pace.unit" then return burn(0.05) end
        kit.refused("busy", "is pruning this store", nil, rival:prune())
        clock:advance(25)
      end)
    assert(engine:prune { retain = 0, share = 20 })
    probe.fault(nil)
    assert(rival:prune())
  end)

  it("takes less with the next transaction when one took long", function()
    local engine, _, url = fresh()
    local id = long(backend, url, engine, 1500)
    local left, took = nil, {}
    probe.fault(each("engine.purge.batch", 6) .. ","
      .. each("engine.pace.unit", 10), function(point)
        if point == "engine.pace.unit" then return burn(0.03) end
        local now = kit.count(backend, url, "history")
        took[#took + 1] = left and left - now
        left = now
      end)
    assert(engine:purge(id))
    probe.fault(nil)
    assert.same({ 250, 125, 62, 32, 32 }, { table.unpack(took, 1, 5) })
    assert.equal(0, kit.count(backend, url, "history"))
  end)

  it("takes more with the next when one took no time", function()
    local engine, _, url = fresh()
    local id = long(backend, url, engine, 9000)
    local left, most = nil, 0
    probe.fault(each("engine.purge.batch", 16), function()
      local now = kit.count(backend, url, "history")
      most, left = math.max(most, (left or now) - now), now
    end)
    assert(engine:purge(id))
    probe.fault(nil)
    assert.is_true(most > 250 and most <= 1000, most)
  end)
end)

describe("the share of its time that a sweep works beside others", function()
  it("is told as it is", function()
    local tmp = require "spec.support.tmp"
    local share = assert(tmp.read "src/engine/act/pace.c"
      :match "BUSY_SHARE = (%d+)")
    assert.equal(share, tmp.read "lua/pawl/cli/prune.lua"
      :match "default: (%d+) beside")
    assert.equal(share, tmp.read
      "docs/decisions/0058-housekeeping-has-a-pace.md"
      :match "else (%d+) beside")
  end)
end)

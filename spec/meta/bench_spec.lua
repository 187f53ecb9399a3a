-- The bench measures everything, in a run so small that its numbers mean
-- nothing; and what it says about numbers.
local backends = require "spec.support.backends"
local build = require "spec.support.build"
local json = require("pawl").json
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

package.path = "bench/?.lua;" .. package.path
local baseline = require "baseline"
local others = require "others"
local record = require "record"
local targets = require "targets"

local MEASURES = { "W1", "W2", "W3", "W3_bulk", "W4", "W4_signal", "W5", "W6",
  "W7", "W7_single", "each", "children", "beside" }

--- Of what each measure counts by.
local COUNTED = { W1 = "step", W2 = "step", W3 = "start", W3_bulk = "start",
  W5 = "step", W6 = "step", W7 = "event", W7_single = "event",
  each = "item", children = "item" }

--- A kit of other engines that tells what it was asked.
local KIT = [[
cat >"$OUT" <<END
{"peer":"limit","m":"L1","rate":1}
{"peer":"other","m":"w1","steps_s":100,"inst_s":20}
{"peer":"other","m":"w1","steps_s":300,"inst_s":60}
{"peer":"other","m":"w2","error":"gone"}
{"peer":"other","m":"w4","run":[3,5,4],"signal":[]}
{"peer":"other","m":"w5 base","inst_s":10}
{"peer":"other","m":"w5 deep","inst_s":5}
{"peer":"asked","m":"$MEASURES in $ROUNDS","error":"$*"}
END
]]

local function kit()
  local dir = tmp.dir()
  local file <close> = assert(io.open(dir .. "/run.sh", "w"))
  file:write("#!/bin/sh\n", KIT)
  shell.output { "chmod", "+x", dir .. "/run.sh" }
  return dir
end

local function run_to_end(...)
  local words = { "lua5.4", "bench/bench.lua", "--tiny", "--json", ... }
  return process.run(words, { env = {
    PAWL_BUILD = build.dir, PAWL_BENCH_PG = os.getenv "PAWL_TEST_PG" or "",
    PAWL_PEERS = kit(), PEERS = "", MEASURES = "", ROUNDS = "",
    LD_PRELOAD = "" } })
end

local function run(...)
  local code, out, err = run_to_end(...)
  assert.equal(0, code, err)
  return assert(json.decode(out))
end

--- A build with sanitizers runs in no interpreter but one that has them.
local describe_run = os.getenv "LD_PRELOAD" and os.getenv "LD_PRELOAD" ~= ""
  and pending or describe

for _, backend in ipairs(backends) do
  describe_run("./dev bench on " .. backend.name, function()
    after_each(process.stop_all)

    it("measures all that it names", function()
      shell.output { "cmake", "--build", build.dir, "--target", "pawl_bench" }
      local file = tmp.path "baseline.json"
      local results = run("--baseline", file, "--save", backend.name)
      local store = results[backend.name]
      local bytes = backend.name == "postgres" and "wal_bytes" or "bytes"
      for _, name in ipairs(MEASURES) do
        local m = assert(store[name], name .. " was not measured")
        assert.is_true(m.value > 0 and m.raw > 0 and m.ratio > 0, name)
        assert.is_string(m.unit)
        for _, count in ipairs(COUNTED[name] and { "round_trips",
          "statements", "transactions", bytes } or {}) do
          local field = ("%s_per_%s"):format(count, COUNTED[name])
          assert.is_true(m[field] > 0, name .. "." .. field)
        end
      end
      assert.equal(backend.name == "postgres", store.W1x2 ~= nil)
      assert.equal(backend.name == "postgres", store.W1.hot_share ~= nil)
      for _, field in ipairs { "lua_allocations_per_step",
        "c_allocations_per_step", "instructions_per_step" } do
        assert.is_true(store.W1[field] > 0, field)
        assert.is_true(store.W2[field] > 0, field)
      end
      for _, field in ipairs { "rss_mb", "rss_waiting_ratio",
        bytes .. "_small_change" } do
        assert.is_true(store[field] > 0, field)
      end
      for question in pairs(record.questions) do
        assert.is_true(store.record.ms[question] > 0, question)
      end
      assert.equal(backend.name == "sqlite", results.cold_start_ms ~= nil)
      assert.is_true(results.rss_mb > 0)
      assert.is_true(results.machine.cores > 0)
      assert.truthy(results.versions.pawl and results.versions.lua
        and results.versions[backend.name] and next(store.settings))
      assert.is_true(#results.targets > 5)
      assert.same({ other = { W1 = 200, W4 = 4, W5_empty = 10, W5_deep = 5,
        W5 = 0.5, failed = "w2: gone" },
        asked = { failed = "w1 in 1: node bench.mjs" } }, results.peers)
      local saved = assert(baseline.read(file)).tiny
      assert.equal(store.W1.value, saved[backend.name].W1.value)
    end)

    it("asks a filled record alone", function()
      local results = run("--record", backend.name)
      assert.is_true(results[backend.name].record.ms.list > 0)
      local pruned = results[backend.name].record.pruned
      assert.is_true(pruned.instances > 0 and pruned.longest_ms > 0)
      assert.is_nil(results[backend.name].W1)
      assert.is_nil(results.targets)
    end)

    it("draws frames, alone", function()
      local results = run("--frame", backend.name)
      assert.is_nil(results[backend.name].W1)
      if backend.name == "postgres" then
        assert.is_nil(results.frame)
        return
      end
      for _, place in ipairs { "file", "memory" } do
        for _, kind in ipairs { "every", "grouped", "threaded", "rarely",
          "save" } do
          local found = results.frame[place][kind]
          assert.equal(20, found.frames)
          assert.is_true(found.p50_us > 0 and found.p50_us <= found.max_us)
          assert.is_true(found.over_1ms >= 0 and found.over_1ms <= 1)
          assert.is_true(found.steps > 0 and found.idle_us > 0)
          assert.equal(place == "file", found.bytes_per_step > 0)
        end
      end
      assert.is_true(results.frame.old.bytes_per_step > 0)
    end)

    it("runs at each level of trust, alone", function()
      local found = run("--trust", backend.name)[backend.name].trust
      if backend.name == "postgres" then
        assert.is_nil(found)
        return
      end
      assert.is_true(found.trusted_us > 0 and found.limited_us > 0)
      assert.is_true(found.isolated_us > 0 and found.isolated_ratio > 0)
    end)

    it("runs specs by the kit, alone", function()
      local found = run("--kit", backend.name)[backend.name].kit
      if backend.name == "postgres" then
        assert.is_nil(found)
        return
      end
      assert.equal(5, found.specs)
      assert.is_true(found.ms > 0 and found.cpu_ms > 0)
    end)

    it("works beside who prunes and relays, alone", function()
      local results = run("--beside", backend.name)
      local found = results[backend.name].beside
      for _, field in ipairs { "full", "elsewhere", "elsewhere_ratio",
        "claims_ratio", "claims_elsewhere_ratio", "statements_per_step" } do
        assert.is_true(found[field] > 0, field)
      end
      -- half of 100; 10 that wait and one that stands at a task have an event
      -- each, and so have their templates and that of the finished ones
      assert.equal(50, found.pruned.instances)
      assert.is_true(found.pruned.longest_ms > 0)
      assert.equal(14, found.relayed.events)
      assert.is_nil(results[backend.name].W1)
      assert.is_nil(results[backend.name].record)
    end)
  end)
end

describe("./dev bench", function()
  after_each(process.stop_all)

  it("saves no part of a run as if it were all of one", function()
    for _, part in ipairs { "--record", "--beside", "--frame", "--trust",
      "--kit" } do
      local code, _, err = run_to_end(part, "--save", "--baseline",
        tmp.path "baseline.json")
      assert.equal(2, code)
      assert.truthy(err:find("--save wants all of it, not a part", 1, true))
    end
  end)
end)

describe_run("a process beside that of the bench", function()
  local function start(url, job)
    return others.start({ here = "bench", build = build.dir, dir = tmp.dir() },
      { url = url }, { job }, "2>/dev/null")
  end

  it("tells what it did", function()
    local started = start("sqlite:" .. tmp.path "store.db", { "prune", "1d" })
    assert.is_true(others.all_at_work(started))
    others.go(started)
    local told = others.finish(started)[1]
    assert.is_true(others.all_over(started))
    assert.equal(0, told.instances)
    assert.is_true(told.ended >= told.began and told.transactions > 0)
  end)

  it("is not waited for when it has failed", function()
    assert.has_error(function()
      start("sqlite:" .. tmp.path "no/such/folder.db", { "relay" })
    end, "a process beside has not begun")
    local started = start("sqlite:" .. tmp.path "store.db", { "prune", "soon" })
    others.go(started)
    assert.has_error(function() others.finish(started) end,
      "a process beside has failed")
    assert.is_true(others.all_over(started))
  end)
end)

describe("a run beside an earlier one", function()
  local function changed(store)
    local was = { sqlite = { W1 = { ratio = 1, value = 9, hot_share = 0.5,
      statements_per_step = 0.1, raw_bytes_per_step = 7 },
      W4 = { ratio = 2 } }, cold_start_ms = 10 }
    local is = { sqlite = store, cold_start_ms = 10 }
    local found = {}
    for _, one in ipairs(baseline.compare(was, is)) do
      found[one.figure] = one.worse and "worse" or "better"
    end
    return found
  end

  it("is worse or better by its ratios and counts", function()
    assert.same({ ["sqlite.W1.ratio"] = "worse", ["sqlite.W4.ratio"] = "worse",
      ["sqlite.W1.statements_per_step"] = "worse" },
      changed { W1 = { ratio = 0.7, statements_per_step = 0.103 },
        W4 = { ratio = 2.5 } })
    assert.same({ ["sqlite.W1.ratio"] = "better",
      ["sqlite.W4.ratio"] = "better", ["sqlite.W1.hot_share"] = "better",
      ["sqlite.W1.statements_per_step"] = "better" },
      changed { W1 = { ratio = 1.3, statements_per_step = 0.09,
        hot_share = 0.52 }, W4 = { ratio = 1.5 } })
  end)

  it("is as good when little differs, or what is the machine's", function()
    assert.same({}, changed { W1 = { ratio = 0.85, value = 1,
      statements_per_step = 0.1019, raw_bytes_per_step = 70 },
      W4 = { ratio = 2.3 } })
  end)
end)

describe("a target", function()
  local function verdict(results, figure)
    for _, one in ipairs(targets.check(results)) do
      if one.figure == figure then return one.met end
    end
  end

  it("is met, missed or not measured", function()
    local figure = "sqlite.W1.ratio"
    assert.is_true(verdict({ sqlite = { W1 = { ratio = 0.6 } } }, figure))
    assert.is_false(verdict({ sqlite = { W1 = { ratio = 0.5 } } }, figure))
    assert.is_nil(verdict({ sqlite = {} }, figure))
  end)

  it("may be another figure of the run, a peer's or the best peer's",
    function()
      local results = { peers = { dbos = { W4 = 16 },
        ["graphile-worker"] = { W4 = 4 }, ["pg-boss"] = { W1 = 100 } },
        postgres = { W1 = { value = 99 }, W4 = { step_done = 2.4 },
          W1x2 = { value = 100 } } }
      assert.is_false(verdict(results, "postgres.W1.value"))
      assert.is_true(verdict(results, "postgres.W1x2.value"))
      assert.is_true(verdict(results, "postgres.W4.step_done"))
      results.postgres.W4.step_done = 2.5
      assert.is_false(verdict(results, "postgres.W4.step_done"))
    end)
end)

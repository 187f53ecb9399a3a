--- kill -9 of a process whose commits may wait for the disk, or for the file:
--- it takes what the stats of the last tick say, and nothing else.
local assert = require "luassert"
local backends = require "spec.support.backends"
local build = require "spec.support.build"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

-- Says of each step that it is committed, as soon as the tick has returned.
local PROGRAM = [[
local pawl = require "pawl"
local url, kind = arg[1], arg[2]
local ticks, budget = tonumber(arg[3]), tonumber(arg[4])
local flow = pawl.workflow { code = "t.kept", start = "a" }
flow:step("a", { run = function(ctx)
  ctx.vars.n = (ctx.vars.n or 0) + 1
  return ctx.vars.n < 1000000 and "again" or "out"
end, next = { again = "a", out = "z" } })
flow:finish "z"
local engine = assert(pawl.open(url, { durability = kind, flush = 0.03 }))
assert(engine:load(flow))
for _ = 1, 3 do print(assert(engine:start "t.kept")) end
local committed, safe, stats = 0, 0, nil
for i = 1, ticks do
  stats = assert(engine:tick(budget))
  committed = committed + stats.steps
  if stats.unwritten == 0 then safe = committed end
end
io.write(("safe %d unwritten %d "):format(safe, stats.unwritten))
print("committed " .. committed)
io.flush()
local file = assert(io.open "/proc/self/stat")
os.execute("kill -9 " .. file:read "n")
require("system").sleep(5)
]]

for _, backend in ipairs(backends) do
  if backend.name == backend.label and backend.label ~= ":memory:" then
    describe("who is killed on " .. backend.name, function()
      after_each(backend.cleanup)

      --- What is there after it was killed: steps, as both the histories and
      --- the variables have them.
      local function killed(kind, ticks, budget)
        local file, url = tmp.file("kept.lua", PROGRAM), backend.url()
        local code, out, err = process.run({ "lua5.4", file, url, kind,
          tostring(ticks), tostring(budget) }, { env = {
            LUA_PATH = "./?.lua;" .. build.env.LUA_PATH,
            LUA_CPATH = build.env.LUA_CPATH } })
        assert.equal(137, code, out .. err)
        local engine = backend.open(url)
        local steps, counted, ids = 0, 0, 0
        for id in out:gmatch "%x+%-%x+%-%x+%-%x+%-%x+" do
          ids = ids + 1
          local instance = assert(engine:get(id))
          assert.equal("running",
            instance.status == "created" and "running" or instance.status)
          counted = counted + (instance.variables.n or 0)
          local seq, page = 0
          repeat
            page = assert(engine:history(id, { limit = 10000, after = seq }))
            for _, entry in ipairs(page) do
              seq = seq + 1
              assert.equal(seq, entry.seq)
              if entry.type == "step" then steps = steps + 1 end
            end
          until #page == 0
        end
        assert.equal(3, ids)
        assert.equal(steps, counted)
        return steps, tonumber(out:match "committed (%d+)"),
          tonumber(out:match "safe (%d+)"),
          tonumber(out:match "unwritten (%d+)")
      end

      for _, kind in ipairs { "every", "grouped", "save" } do
        it("with durability " .. kind .. " loses nothing of long ticks",
          function()
            local steps, committed = killed(kind, 8, 0.15)
            assert.is_true(committed > 0)
            assert.equal(committed, steps)
          end)

        it("with durability " .. kind .. " loses of short ticks what is said",
          function()
            local lost = 0
            for ticks = 12, 42, 10 do
              local steps, committed, safe, unwritten =
                killed(kind, ticks, 0.004)
              assert.is_true(committed > 0)
              assert.is_true(steps >= safe, steps .. " of " .. safe)
              if unwritten == 0 then assert.equal(committed, steps) end
              lost = lost + committed - steps
            end
            if kind == "every" or backend.name ~= "sqlite" then
              assert.equal(0, lost)
            else
              assert.is_true(lost > 0) -- else they were no groups
            end
          end)
      end
    end)
  end
end

--- kill -9 of a process whose commits may wait for the disk: what a power cut
--- may take, a kill may not.
local assert = require "luassert"
local backends = require "spec.support.backends"
local build = require "spec.support.build"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

-- Says of each step that it is committed, as soon as the tick has returned.
local PROGRAM = [[
local pawl = require "pawl"
local url, kind, ticks = arg[1], arg[2], tonumber(arg[3])
local flow = pawl.workflow { code = "t.kept", start = "a" }
flow:step("a", { run = function(ctx)
  ctx.vars.n = (ctx.vars.n or 0) + 1
  return ctx.vars.n < 1000000 and "again" or "out"
end, next = { again = "a", out = "z" } })
flow:finish "z"
local engine = assert(pawl.open(url, { durability = kind, flush = 0.01 }))
assert(engine:load(flow))
for _ = 1, 3 do print(assert(engine:start "t.kept")) end
local committed = 0
for _ = 1, ticks do
  committed = committed + assert(engine:tick(0.004)).committed
end
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

      for _, kind in ipairs { "every", "grouped", "save" } do
        it("with durability " .. kind .. " loses nothing", function()
          local file, url = tmp.file("kept.lua", PROGRAM), backend.url()
          local code, out, err = process.run({ "lua5.4", file, url, kind,
            "8" }, { env = { LUA_PATH = "./?.lua;" .. build.env.LUA_PATH,
              LUA_CPATH = build.env.LUA_CPATH } })
          assert.equal(137, code, out .. err)
          local committed = tonumber(out:match "committed (%d+)")
          assert.is_true(committed > 0)
          local engine = backend.open(url)
          local steps, ids = 0, 0
          for id in out:gmatch "%x+%-%x+%-%x+%-%x+%-%x+" do
            ids = ids + 1
            local instance = assert(engine:get(id))
            assert.equal("running",
              instance.status == "created" and "running" or instance.status)
            for _, entry in ipairs(assert(engine:history(id,
              { limit = 10000 }))) do
              if entry.type == "step" then steps = steps + 1 end
            end
          end
          assert.equal(3, ids)
          assert.equal(committed, steps)
        end)
      end
    end)
  end
end

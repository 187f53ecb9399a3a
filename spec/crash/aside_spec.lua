--- kill -9 of a process that holds from tick to tick what it could not run.
local assert = require "luassert"
local backends = require "spec.support.backends"
local build = require "spec.support.build"
local pawl = require "pawl"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

-- Each handler takes longer than a tick has; after some ticks, or in the midst
-- of one, it is over.
local PROGRAM = [[
local pawl = require "pawl"
local system = require "system"
local url, ticks, inside = arg[1], tonumber(arg[2]), arg[3] == "inside"

local function die()
  local file = assert(io.open "/proc/self/stat")
  local pid = file:read "n"
  file:close()
  os.execute("kill -9 " .. pid)
  system.sleep(5)
end

local runs = 0
local flow = pawl.workflow { code = "t.aside", start = "a" }
flow:step("a", { run = function(ctx)
  runs = runs + 1
  local over = system.monotime() + 0.021
  while system.monotime() < over do end
  io.write(ctx.id, "\n")
  io.flush()
  if inside and runs > ticks then die() end
end, next = "b" })
flow:step("b", { run = function() end, next = "z" })
flow:finish "z"

local engine = assert(pawl.open(url))
assert(engine:load(flow))
for _ = 1, 8 do assert(engine:start "t.aside") end
local held = 0
for _ = 1, ticks do held = assert(engine:tick(0.02)).held end
assert(held > 0)
if inside then engine:tick(0.02) else die() end
]]

for _, backend in ipairs(backends) do
  if backend.name ~= backend.label or backend.label == ":memory:" then
    goto continue
  end
  describe("who is killed with leases put aside on " .. backend.name,
    function()
      after_each(backend.cleanup)

      local function killed(ticks, where)
        local file, url = tmp.file("aside.lua", PROGRAM), backend.url()
        local code, out, err = process.run({ "lua5.4", file, url,
          tostring(ticks), where }, { env = {
            LUA_PATH = "./?.lua;" .. build.env.LUA_PATH,
            LUA_CPATH = build.env.LUA_CPATH } })
        assert.equal(137, code, out .. err)
        local ran = {}
        for id in out:gmatch "%S+" do ran[id] = (ran[id] or 0) + 1 end
        local engine = backend.open(url)
        local again = {}
        local flow = pawl.workflow { code = "t.aside", start = "a" }
        flow:step("a", { next = "b", run = function(ctx)
          again[ctx.id] = (again[ctx.id] or 0) + 1
        end })
        flow:step("b", { run = function() end, next = "z" })
        flow:finish "z"
        assert(engine:load(flow))
        assert(engine:run()) -- at once: it need not wait for the leases' end
        local list = assert(engine:list { limit = 100 })
        assert.equal(8, #list)
        local twice = 0
        for _, one in ipairs(list) do
          assert.equal("completed", one.status)
          local runs = (ran[one.id] or 0) + (again[one.id] or 0)
          assert.is_true(runs == 1 or runs == 2)
          if runs == 2 then twice = twice + 1 end
          local steps = 0
          for _, entry in ipairs(assert(engine:history(one.id))) do
            if entry.type == "step" then steps = steps + 1 end
          end
          assert.equal(2, steps)
        end
        return twice
      end

      it("between two ticks, loses nothing and runs nothing twice", function()
        for ticks = 1, 3 do assert.equal(0, killed(ticks, "between")) end
      end)

      it("in a handler, has that one run again and no other", function()
        for ticks = 1, 2 do assert.equal(1, killed(ticks, "inside")) end
      end)
    end)
  ::continue::
end

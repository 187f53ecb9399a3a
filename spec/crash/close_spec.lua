--- An engine that is closed with a decision in hand takes it again, if it must,
--- when its helper thread is gone already.
local assert = require "luassert"
local backends = require "spec.support.backends"
local build = require "spec.support.build"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

-- Two waits, of which one has timed out. The commits that say so are refused,
-- from the one on that is given, until an event has come in: on closing, the
-- other wait is asked about it.
local PROGRAM = [[
local pawl = require "pawl"
local probe = require "spec.support.probe"
local system = require "system"
local url, first, fault = arg[1], tonumber(arg[2]), arg[3]

local asked = 0
local flow = pawl.workflow { code = "t.close", start = "f" }
flow:fork("f", { next = { "late", "w" } })
flow:wait("late", { event = "never", timeout = 0.1,
  next = { received = "z", timeout = "z" } })
flow:wait("w", { event = "x", next = "z", match = function()
  asked = asked + 1
  return false
end })
flow:finish "z"

local rival = assert(pawl.open(url))
local engine = assert(pawl.open(url, { heartbeat_thread = true }))
assert(engine:load(flow))
local id = assert(engine:start "t.close")
assert(engine:tick(0.05))
system.sleep(0.2)
local list = {}
for i = 1, 8 do list[i] = fault .. "@" .. first + i - 1 end
probe.fault(table.concat(list, ","))
engine:tick(0.5)
probe.fault(nil)
rival:signal { name = "x", instance = id }
local before = asked
engine:close()
print(asked > before and "asked while it closed" or "not asked")
]]

for _, backend in ipairs(backends) do
  describe("an engine that is closed on " .. backend.name, function()
    after_each(backend.cleanup)

    it("decides again without its helper thread", function()
      local file, n = tmp.file("close.lua", PROGRAM), 0
      local fault = backend.name == "sqlite" and "commit.busy=fail"
        or "commit.before_send=drop"
      for first = 1, 8 do
        local code, out, err = process.run({ "lua5.4", file, backend.url(),
          tostring(first), fault }, { env = {
            LUA_PATH = "./?.lua;" .. build.env.LUA_PATH,
            LUA_CPATH = build.env.LUA_CPATH,
            MALLOC_PERTURB_ = "48", -- what is freed is no lock any more
          } })
        assert.equal(0, code, out .. err)
        if out:find "asked while it closed" then n = n + 1 end
      end
      assert.truthy(n > 0)
    end)
  end)
end

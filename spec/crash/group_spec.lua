--- kill -9 of a host at each point in a group of ticks: all of the group is
--- there or nothing, and everything before it that was saved.
local assert = require "luassert"
local backends = require "spec.support.backends"
local build = require "spec.support.build"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

-- Two instances in one group have taken the same number of steps whenever a
-- group ends: each tick signals both. What is saved is said.
local PROGRAM <const> = [[
local pawl = require "pawl"
local probe = require "spec.support.probe"
local url, kind, fault = arg[1], arg[2], arg[3]
local flow = pawl.workflow { code = "t.pair", start = "w" }
flow:wait("w", { event = "go", next = "c" })
flow:step("c", { run = function(ctx)
  ctx.vars.n = (ctx.vars.n or 0) + 1
  ctx.emit("went", { n = ctx.vars.n })
  return ctx.vars.n < 1000 and "again" or "out"
end, next = { again = "w", out = "z" } })
flow:finish "z"
local engine = assert(pawl.open(url, { durability = kind, flush = 60 }))
assert(engine:load(flow))
local ids = {}
for i = 1, 2 do ids[i] = assert(engine:start "t.pair") end
assert(engine:tick())
assert(engine:save())
print(ids[1], ids[2], 0)
io.flush()
probe.fault(fault)
for n = 1, 40 do
  assert(engine:tick(0.002)) -- begins a group
  for _, id in ipairs(ids) do
    assert(engine:signal { name = "go", instance = id })
  end
  for _ = 1, 40 do
    local done = 0
    assert(engine:tick(0.002))
    for _, id in ipairs(ids) do
      if assert(engine:get(id)).variables.n == n then done = done + 1 end
    end
    if done == 2 then break end
  end
  if n % 4 == 0 then
    assert(engine:save())
    print(ids[1], ids[2], n)
    io.flush()
  end
end
]]

for _, backend in ipairs(backends) do
  describe("a host that is killed in a group on " .. backend.label, function()
    if backend.label == ":memory:" then return end
    after_each(backend.cleanup)

    --- What is there of both, and what was said to be saved, once it died.
    local function killed(kind, fault)
      local url = backend.url()
      local code, out, err = process.run({ "lua5.4",
        tmp.file("group.lua", PROGRAM), url, kind, fault }, { env = {
          LUA_PATH = "./?.lua;" .. build.env.LUA_PATH,
          LUA_CPATH = build.env.LUA_CPATH } })
      assert.is_true(code == 137 or code == 0, out .. err)
      local one, two, saved = nil, nil, nil
      for a, b, n in out:gmatch "(%S+)%s+(%S+)%s+(%d+)\n" do
        one, two, saved = a, b, tonumber(n)
      end
      local engine, counts = backend.open(url), {}
      for i, id in ipairs { one, two } do
        local steps = 0
        for seq, row in ipairs(assert(engine:history(id, { limit = 999 }))) do
          assert.equal(seq, row.seq)
          if row.type == "step" then steps = steps + 1 end
        end
        counts[i] = assert(engine:get(id)).variables.n or 0
        assert.equal(counts[i], steps)
        assert.is_true(counts[i] >= saved, counts[i] .. " of " .. saved)
      end
      assert.equal(counts[1] + counts[2],
        #assert(engine.outbox:list { limit = 999 }))
      backend.cleanup()
      return code == 137, counts[1] - counts[2], saved
    end

    local points = backend.name == "sqlite"
      and { "commit.before", "commit.after", "store.save" }
      or { "commit.before_send", "commit.sent" }
    local passages = { ["store.save"] = { 1, 2, 5 },
      ["commit.before_send"] = { 3, 60, 120 }, ["commit.sent"] = { 5, 121 } }
    for _, point in ipairs(points) do
      it("leaves all of it or nothing at " .. point, function()
        local deaths, most = 0, 0
        for _, kind in ipairs { "grouped", "save" } do
          for _, at in ipairs(passages[point] or { 2, 9, 16, 23, 37 }) do
            local died, apart, saved = killed(kind, ("%s=kill@%d"):format(
              point, at))
            if died then deaths = deaths + 1 end
            if backend.name == "sqlite" then assert.equal(0, apart) end
            most = math.max(most, saved)
          end
        end
        assert.is_true(deaths > 3, deaths)
        assert.is_true(most > 0)
      end)
    end
  end)
end

--- An engine that is told to die at a commit (`commit` of its options): as if
--- its process had been killed there.
local backends = require "spec.support.backends"
local pawl = require "pawl"

local LEASE <const> = 30

local function flow(ran)
  local w = pawl.workflow { code = "t.dies" }
  w:step("one", { run = function(ctx)
    ran[#ran + 1] = ctx.idempotency_key()
    ctx.vars.one = ctx.input.n
    ctx.emit("one", {})
  end })
  w:timer("nap", { after = "1h" })
  w:step("two", { transactional = true, run = function(ctx)
    ran[#ran + 1] = ctx.idempotency_key()
    ctx.vars.two = true
  end })
  w:finish("z", { output = function(ctx) return ctx.vars end })
  return w
end

for _, backend in ipairs(backends) do
  describe("an engine that is told to die on " .. backend.name, function()
    after_each(backend.cleanup)

    local asked, die_at, engine, clock, url, ran

    --- Opens one that dies at the n-th time it is asked, from now on.
    local function open(n)
      asked, die_at = {}, n
      engine = backend.open(url, { clock = clock, lease = LEASE,
        commit = function(is_done)
          asked[#asked + 1] = is_done
          return #asked == die_at
        end })
      assert(engine:load(flow(ran)))
    end

    before_each(function()
      local first
      ran = {}
      first, clock, url = backend.fresh { lease = LEASE }
      first:close()
      open(nil)
    end)

    --- Runs all there is, by another engine when this one has died.
    local function run()
      for _ = 1, 20 do
        local totals, err = engine:run()
        if totals then
          local due = engine:next_due()
          if not due then return end
          clock.us = math.max(clock.us, math.floor(due * 1e6 + 0.5))
        else
          assert.equal("unreachable", err.code)
          assert.matches("the engine was told to die", err.message)
          engine:close()
          open(nil)
          clock:jump(LEASE + 1)
        end
      end
      error "it does not end"
    end

    it("is asked before each commit, and after it", function()
      asked = {}
      assert(engine:start("t.dies", { n = 1 }))
      assert.same({ false, true }, { asked[1], asked[2] })
      local before = #asked -- a server is told of it besides
      assert(engine:list())
      assert.equal(before, #asked) -- which writes nothing
    end)

    it("goes on elsewhere, wherever it died, and loses nothing", function()
      local id = assert(engine:start("t.dies", { n = 3 }))
      asked = {}
      run()
      local points, expected = #asked, engine:get(id).output
      assert.is_true(points >= 8, points)
      for n = 1, points do
        open(nil)
        id = assert(engine:start("t.dies", { n = 3 }))
        engine:close()
        ran = {}
        open(n)
        run()
        local instance = assert(engine:get(id))
        assert.equal("completed", instance.status)
        assert.same(expected, instance.output)
        local keys = {}
        for _, key in ipairs(ran) do keys[key] = true end
        assert.is_true(#ran <= 3)
        local distinct = 0
        for _ in pairs(keys) do distinct = distinct + 1 end
        assert.equal(2, distinct)
        assert.equal(1, #engine.outbox:list { instance = id })
        engine:close()
      end
    end)

    it("says so to every call, until it is closed", function()
      local id = assert(engine:start("t.dies", { n = 1 }))
      asked, die_at = {}, 1
      local other, err = engine:start("t.dies", { n = 2 })
      assert.is_nil(other)
      assert.equal("unreachable", err.code)
      for _ = 1, 2 do
        local got, why = engine:get(id)
        assert.is_nil(got)
        assert.equal("unreachable", why.code)
      end
      assert.is_nil((engine:tick(0)))
      engine:close()
      open(nil)
      assert.equal("created", engine:get(id).status)
      assert.equal(1, #engine:list())
    end)

    it("keeps its word after a commit that it did", function()
      asked, die_at = {}, 2
      local id, err = engine:start("t.dies", { n = 2 })
      assert.is_nil(id)
      assert.equal("unreachable", err.code)
      engine:close()
      open(nil)
      assert.equal(1, #engine:list())
    end)

    it("dies in a transaction of the program's own", function()
      asked, die_at = {}, 1
      local ok, err = engine:transaction(function(tx)
        assert(tx:start("t.dies", { n = 1 }))
      end)
      assert.is_nil(ok)
      assert.equal("unreachable", err.code)
      engine:close()
      open(nil)
      assert.same({}, engine:list())
    end)
  end)
end

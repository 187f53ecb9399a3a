local backends = require "spec.support.backends"
local helper = require "spec.store.helper"
local probe = require "spec.support.probe"
local system = require "system"

for _, backend in ipairs(backends) do
  describe("between units, a store on " .. backend.name, function()
    local store, url

    before_each(function()
      url = backend.url()
      store = assert(helper.open(url))
    end)

    after_each(function()
      helper.cleanup()
      backend.cleanup()
    end)

    local function waited(seconds)
      local began = system.monotime()
      local ok, err = store:wait(seconds)
      return system.monotime() - began, ok, err
    end

    it("looks once more when it begins to listen", function()
      if backend.name == "sqlite" then return end -- it always sees changes
      assert.is_true((waited(5)) < 2)
    end)

    it("waits until the time is up", function()
      waited(0.01)
      local took, ok = waited(0.12)
      assert.is_true(ok)
      assert.is_true(took >= 0.11 and took < 2, took)
      assert.is_true((waited(-1)) < 0.1)
    end)

    it("is woken by what another one commits", function()
      waited(0.01)
      local other = assert(helper.open(url))
      assert(helper.unit(other, "batch",
        { "meta_put", { key = "a", value = "1" } },
        { "wake" }))
      local took, ok = waited(10)
      assert.is_true(ok)
      assert.is_true(took < 5, took)
      took = waited(0.1) -- and once only
      assert.is_true(took >= 0.09, took)
    end)

    it("tells of a wake-up that comes when the time is up, once", function()
      waited(0.01)
      local other = assert(helper.open(url))
      assert(helper.unit(other, "batch",
        { "meta_put", { key = "a", value = "1" } },
        { "wake" }))
      local deadline = system.monotime() + 10
      local woken
      repeat
        woken = select(2, store:wait(-1))
      until woken or system.monotime() > deadline
      assert.is_true(woken)
      assert.is_false((select(2, store:wait(-1))))
    end)

    it("is not woken by what it commits itself", function()
      waited(0.01)
      assert(helper.unit(store, "batch",
        { "meta_put", { key = "a", value = "1" } },
        { "wake" }))
      local took = waited(0.1)
      assert.is_true(took >= 0.09, took)
    end)

    it("does not wait in the middle of a unit", function()
      assert(store:begin("read"))
      assert.equal("misuse", select(2, store:wait(0.01)).code)
    end)

    it("may be tidied at any time", function()
      store:tidy()
      assert(store:begin("open"))
      store:tidy()
      assert(store:send("meta_put", { key = "a", value = "1" }))
      assert(store:commit())
      store:tidy()
      assert.equal("1", helper.get(store, "a"))
    end)
  end)
end

local server = os.getenv("PAWL_TEST_PG")
if not server then return end

for _, pooler in ipairs { false, true } do
  describe("a lost connection to postgres" ..
           (pooler and " behind a pooler" or ""), function()
    local backend = backends[#backends]
    local store, url

    before_each(function()
      url = backend.url()
      store = assert(helper.open(url, { pooler = pooler }))
      assert(helper.put(store, "a", "1"))
    end)

    after_each(function()
      helper.cleanup()
      backend.cleanup()
    end)

    local function cut()
      backend.sql(url, [[
        select pg_terminate_backend(pid, 5000) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()]])
    end

    it("is opened again by the next begin", function()
      for i = 2, 4 do
        cut()
        assert(helper.put(store, "a", tostring(i)))
        assert.equal(tostring(i), helper.get(store, "a"))
      end
    end)

    it("undoes the open unit", function()
      assert(store:begin("open"))
      assert(store:send("meta_put", { key = "a", value = "2" }))
      cut()
      local ok, err = store:send("meta_get", { key = "a" })
      assert.is_nil(ok)
      assert.equal("unreachable", err.code)
      assert.equal("misuse", select(2, store:commit()).code)
      assert.equal("1", helper.get(store, "a"))
    end)

    it("leaves open whether a commit happened", function()
      assert(store:begin("batch"))
      assert(store:send("meta_put", { key = "a", value = "2" }))
      cut()
      local ok, err = store:commit()
      assert.is_nil(ok)
      assert.equal("unreachable", err.code)
      assert.equal("1", helper.get(store, "a"))
    end)

    for point, stored in pairs { ["commit.before_send"] = "1",
                                 ["commit.sent"] = "2" } do
      for _, kind in ipairs { "batch", "open" } do
        it(("at %s of a %s leaves %s"):format(
          point, kind, stored == "1" and "nothing" or "all of it"), function()
          assert(store:begin(kind))
          assert(store:send("meta_put", { key = "a", value = "2" }))
          probe.fault(point .. "=drop@1")
          local ok, err = store:commit()
          probe.fault()
          assert.is_nil(ok)
          assert.equal("unreachable", err.code)
          -- The server may still be at it: the row's lock tells.
          assert(helper.put(store, "b", "x"))
          local deadline = system.monotime() + 5
          while helper.get(store, "a") ~= stored and
                system.monotime() < deadline do
            system.sleep(0.01)
          end
          assert.equal(stored, helper.get(store, "a"))
        end)
      end
    end

    it("ends a wait", function()
      if pooler then return end -- it does not look at the connection
      store:wait(0.01)
      cut()
      local ok, err = store:wait(5)
      assert.is_nil(ok)
      assert.equal("unreachable", err.code)
      assert.equal("1", helper.get(store, "a"))
    end)

    it("keeps its counts", function()
      local before = store:count().transactions
      cut()
      assert(helper.put(store, "a", "2"))
      -- and three that look whether it is still a store of ours
      assert.equal(before + 4, store:count().transactions)
    end)
  end)
end

--- A unit is over when the store says so: where a rollback fails, as it may
--- when there is no memory for it, the connection goes, and its locks with it.
local backends = require "spec.support.backends"
local helper = require "spec.store.helper"
local probe = require "spec.support.probe"
local system = require "system"

for _, backend in ipairs(backends) do
  describe("a rollback that fails on " .. backend.name, function()
    local store, url

    before_each(function()
      url = backend.url()
      store = assert(helper.open(url))
      assert(helper.put(store, "a", "1"))
    end)

    after_each(function()
      helper.cleanup()
      backend.cleanup()
    end)

    local function put(value)
      assert(store:send("meta_put", { key = "a", value = value }))
    end

    --- Another one writes the same row, without waiting for anybody's limits.
    local function assert_free()
      local other = assert(helper.open(url))
      local began = system.monotime()
      assert(helper.put(other, "a", "3"))
      assert.is_true(system.monotime() - began < 4)
      other:close()
    end

    for _, kind in ipairs { "batch", "open", "soon" } do
      it("leaves no lock of a " .. kind .. " and no trace of it", function()
        assert(store:begin(kind))
        put "2"
        probe.fault "store.rollback=fail"
        store:rollback()
        probe.fault()
        assert_free()
        assert.equal("3", helper.get(store, "a")) -- it goes on
        assert(helper.put(store, "a", "4"))
        assert.equal("4", helper.get(store, "a"))
      end)

      it("leaves none where a statement of a " .. kind .. " failed", function()
        assert(store:begin(kind))
        put "2"
        probe.fault "store.rollback=fail"
        local ok = store:send("migration_insert", {
          number = 1, name = "twice", breaking = false, now = 0 })
        if ok then assert.is_nil((store:commit())) end
        store:rollback()
        probe.fault()
        assert_free()
        assert.equal("3", helper.get(store, "a"))
      end)
    end

    if backend.name == "postgres" then
      it("loses what was submitted before with its connection", function()
        assert(store:begin "batch")
        put "5"
        assert(store:submit())
        assert(store:begin "open")
        put "6"
        probe.fault "store.rollback=fail"
        store:rollback()
        probe.fault()
        local ok, err = store:finish()
        assert.is_nil(ok)
        assert.equal("unreachable", err.code) -- whoever asks looks
        assert.equal("5", helper.get(store, "a"))
      end)
    end
  end)
end

describe("a rollback that fails in memory", function()
  after_each(helper.cleanup)

  it("is tried again: the store is nowhere else", function()
    local store = assert(helper.open ":memory:")
    assert(helper.put(store, "a", "1"))
    assert(store:begin "open")
    assert(store:send("meta_put", { key = "a", value = "2" }))
    probe.fault "store.rollback=fail@1,store.rollback=fail@2"
    store:rollback()
    local ok, err = store:begin "batch"
    assert.is_nil(ok)
    assert.equal("nomem", err.code)
    assert.equal("1", helper.get(store, "a"))
    assert(helper.put(store, "a", "3"))
    assert.equal("3", helper.get(store, "a"))
  end)
end)

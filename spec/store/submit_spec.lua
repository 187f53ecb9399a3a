--- Units that are sent without waiting for their answers.
local backends = require "spec.support.backends"
local helper = require "spec.store.helper"
local probe = require "spec.support.probe"
local process = require "spec.support.process"

for _, backend in ipairs(backends) do
  describe("a unit sent ahead on " .. backend.name, function()
    local store, url

    before_each(function()
      url = backend.url()
      store = assert(helper.open(url))
      -- what is prepared in it is waited for
      assert(helper.put(store, "warm", "1"))
      helper.get(store, "warm")
    end)

    after_each(function()
      helper.cleanup()
      backend.cleanup()
    end)

    local function queue(...)
      assert(store:begin "batch")
      for _, statement in ipairs { ... } do
        assert(store:send(table.unpack(statement)))
      end
    end

    local function submit(...)
      queue(...)
      return assert(store:submit())
    end

    local function put(key, value)
      return { "meta_put", { key = key, value = value } }
    end

    local function get(key) return { "meta_get", { key = key } } end

    if backend.name == "sqlite" then
      it("is not: it writes in this thread", function()
        assert.is_false(store:can_submit())
      end)
      return
    end

    it("is finished in order, with its own rows", function()
      assert.is_true(store:can_submit())
      submit(put("a", "1"), get "a")
      submit(put("a", "2"), get "a")
      assert.equal("1", assert(store:finish(2))[2][1].value)
      local second = assert(store:finish(2))
      assert.equal(1, second[1].changed)
      assert.equal("2", second[2][1].value)
    end)

    it("lets other units by, which see what it wrote", function()
      submit(put("a", "1"), get "a")
      assert.equal("1", helper.get(store, "a"))
      assert(store:begin "open")
      assert(store:send("meta_put", { key = "b", value = "1" }))
      store:rollback()
      submit(get "b")
      assert.equal("1", assert(store:finish(2))[2][1].value)
      assert.same({}, { table.unpack(assert(store:finish(1))[1]) })
    end)

    it("that fails takes no other with it", function()
      local refused = { "agenda_finish", { shard = 0, id = { helper.id(1) },
        lease = { helper.lease }, seen = { 0 } } }
      queue(refused) -- prepared, and refused
      store:commit()
      submit(put("a", "1"))
      submit(put("a", "2"), refused, put("a", "3"))
      submit(put("b", "4"))
      assert(store:finish())
      local ok, err = store:finish()
      assert.is_nil(ok)
      assert.equal("lease_lost", err.code)
      assert(store:finish())
      assert.equal("1", helper.get(store, "a"))
      assert.equal("4", helper.get(store, "b"))
    end)

    it("is lost with its connection, and so are those behind it", function()
      submit(put("a", "1"))
      assert(store:finish())
      queue(put("a", "2"))
      probe.fault "commit.before_send=drop@1"
      local sent, err = store:submit()
      probe.fault()
      if sent then
        local ok
        ok, err = store:finish()
        assert.is_nil(ok)
      end
      assert.equal("unreachable", err.code)
      assert.equal("1", helper.get(store, "a"))
    end)

    -- While another holds the key, neither has happened; the server goes on
    -- with what it was sent, though nobody is there to hear of it.
    it("leaves open what became of all that were under way", function()
      local other = assert(helper.open(url))
      assert(other:begin "open")
      assert(other:send("meta_put", { key = "a", value = "0" }))
      submit(put("a", "1"))
      queue(put("a", "2"))
      probe.fault "commit.sent=drop@1"
      assert(store:submit())
      probe.fault()
      for _ = 1, 2 do
        local ok, err = store:finish()
        if not ok then assert.equal("unreachable", err.code) end
      end
      local ok, err = store:finish()
      assert.is_nil(ok)
      assert.equal("misuse", err.code)
      assert.is_nil(helper.get(store, "a"))
      other:rollback()
      assert.truthy(process.poll(20, function()
        return helper.get(store, "a")
      end))
    end)

    it("is one of four at most", function()
      for i = 1, 4 do submit(put("a", tostring(i))) end
      queue(put("a", "5"))
      local ok, err = store:submit()
      assert.is_nil(ok)
      assert.equal("misuse", err.code)
      for _ = 1, 4 do assert(store:finish()) end
      assert.equal("4", helper.get(store, "a"))
    end)

    it("needs a batch, and finishing something sent", function()
      assert.equal("misuse", select(2, store:finish()).code)
      assert.equal("misuse", select(2, store:submit()).code)
      assert(store:begin "open")
      assert.equal("misuse", select(2, store:submit()).code)
      queue(put("a", "1"))
      assert.equal("misuse", select(2, store:finish()).code)
      store:rollback()
    end)

    it("with nothing in it is finished all the same", function()
      submit()
      assert.same({}, assert(store:finish()))
    end)
  end)
end

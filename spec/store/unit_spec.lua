local backends = require "spec.support.backends"
local helper = require "spec.store.helper"

for _, backend in ipairs(backends) do
  describe("a unit of work on " .. backend.name, function()
    local store, url

    before_each(function()
      url = backend.url()
      store = assert(helper.open(url))
    end)

    after_each(function()
      helper.cleanup()
      backend.cleanup()
    end)

    it("stores a batch as a whole", function()
      local results = assert(helper.unit(store, "batch",
        { "meta_put", { key = "a", value = "1" } },
        { "meta_put", { key = "b", value = "2" } },
        { "meta_get", { key = "a" } }))
      assert.equal(3, #results)
      assert.equal(1, results[1].changed)
      assert.equal(0, results[3].changed)
      assert.same({ value = "1" }, results[3][1])
      local other = assert(helper.open(url))
      assert.equal("1", helper.get(other, "a"))
      assert.equal("2", helper.get(other, "b"))
    end)

    it("shows others what may be on disk later", function()
      local other = assert(helper.open(url))
      assert(helper.unit(store, "soon",
        { "meta_put", { key = "a", value = "1" } }))
      assert.equal("1", helper.get(other, "a"))
      assert(helper.put(store, "b", "2"))
      assert.equal("2", helper.get(other, "b"))
    end)

    it("gives an open unit's rows before the next statement", function()
      assert(store:begin("open"))
      assert(store:send("meta_put", { key = "a", value = "1" }))
      assert(store:send("meta_get", { key = "a" }))
      assert.same({ value = "1" }, store:rows(2)[1])
      assert(store:send("meta_put", { key = "a", value = "2" }))
      assert(store:send("meta_get", { key = "a" }))
      assert.same({ value = "2" }, store:rows(4)[1])
      assert.same({ value = "1" }, store:rows(2)[1])
      assert(store:commit())
      assert.equal("2", helper.get(store, "a"))
    end)

    it("reads without writing", function()
      assert(helper.put(store, "a", "1"))
      assert.equal("1", helper.get(store, "a"))
      assert.is_nil(helper.get(store, "b"))
    end)

    it("may be empty", function()
      for _, kind in ipairs { "batch", "open", "read", "soon" } do
        assert.same({}, helper.unit(store, kind))
      end
    end)

    for _, kind in ipairs { "batch", "open", "soon" } do
      it("leaves nothing of a rolled back " .. kind, function()
        assert(store:begin(kind))
        assert(store:send("meta_put", { key = "a", value = "1" }))
        store:rollback()
        assert.is_nil(helper.get(store, "a"))
        assert(helper.put(store, "a", "2")) -- and the store goes on
        assert.equal("2", helper.get(store, "a"))
      end)

      for failing = 1, 3 do
        it(("undoes all of a %s when statement %d fails"):format(
          kind, failing), function()
          local statements = {}
          for i = 1, 3 do
            statements[i] = { "meta_put", { key = "k" .. i, value = "v" } }
          end
          -- Version 1 is there since the store was made.
          statements[failing] = { "migration_insert", {
            number = 1, name = "twice", breaking = false, now = 0 } }
          local results, err = helper.unit(store, kind,
                                           table.unpack(statements))
          assert.is_nil(results)
          assert.equal("store", err.code)
          assert.equal("23505", err.sqlstate)
          assert.matches("^migration_insert: ", err.message)
          for i = 1, 3 do assert.is_nil(helper.get(store, "k" .. i)) end
          assert(helper.put(store, "a", "1"))
        end)
      end
    end

    it("reports an error in the first use of a statement", function()
      -- Its preparation is aborted with it, and must be made up for.
      local bad = { "migration_insert", { number = 1, name = "twice",
                                        breaking = false, now = 0 } }
      local good = { "meta_put", { key = "late", value = "1" } }
      assert.is_nil((helper.unit(store, "batch", bad, good)))
      assert(helper.unit(store, "batch", good))
      assert.equal("1", helper.get(store, "late"))
    end)

    it("runs a column's rows with one statement", function()
      local args = helper.instances(200)
      local results = assert(helper.unit(store, "batch",
        { "instance_insert", args }, { "instance_insert", args }))
      assert.equal(200, results[1].changed)
      assert.equal(0, results[2].changed)
      assert.equal(2, #helper.ask(store, "instance_find", {
        shard = { 0 }, low = helper.id(0), high = helper.id(1000) }))
    end)

    it("skips a statement without rows in its columns", function()
      local results = assert(helper.unit(store, "batch",
        { "meta_put", { key = "a", value = "1" } },
        { "instance_insert", helper.instances(0) },
        { "meta_get", { key = "a" } },
        { "instance_find", { shard = {}, low = helper.id(0),
                             high = helper.id(1) } }))
      assert.same({ changed = 0 }, results[2])
      assert.same({ value = "1" }, results[3][1])
      assert.same({ changed = 0 }, results[4])
      assert.same({ { changed = 0 } }, helper.unit(store, "batch",
        { "instance_insert", helper.instances(0) }))
    end)

    it("carries megabytes both ways at once", function()
      local value = ("x"):rep(400000)
      local statements = {}
      for i = 1, 20 do
        statements[#statements + 1] =
          { "meta_put", { key = "k" .. i, value = value .. i } }
        statements[#statements + 1] = { "meta_get", { key = "k" .. i } }
      end
      local results = assert(helper.unit(store, "batch",
                                         table.unpack(statements)))
      for i = 1, 20 do
        assert.is_true(results[2 * i][1].value == value .. i)
      end
    end)

    it("counts one round trip a batch and one a statement of an open unit",
       function()
      assert(helper.put(store, "a", "1")) -- prepares
      local before = store:count()
      assert(helper.unit(store, "batch",
        { "meta_put", { key = "a", value = "1" } },
        { "meta_put", { key = "b", value = "1" } },
        { "instance_insert", helper.instances(0) }))
      local after = store:count()
      assert.equal(1, after.trips - before.trips)
      assert.equal(2, after.statements - before.statements)
      assert.equal(1, after.transactions - before.transactions)
      assert(helper.unit(store, "open",
        { "meta_put", { key = "a", value = "1" } },
        { "meta_put", { key = "b", value = "1" } }))
      assert.equal(3, store:count().trips - after.trips)
      assert.equal(1, store:count().transactions - after.transactions)
    end)

    it("is refused out of order", function()
      local function misuse(ok, err)
        assert.is_nil(ok)
        assert.equal("misuse", err.code)
      end
      misuse(store:send("meta_get", { key = "a" }))
      misuse(store:commit())
      assert(store:begin("read"))
      misuse(store:begin("read"))
      misuse(store:query("select 1"))
      store:rollback()
      store:rollback() -- a no-op when none is open

      assert(store:begin("open"))
      assert.is_nil((store:send("migration_insert",
        { number = 1, name = "twice", breaking = false, now = 0 })))
      misuse(store:send("meta_get", { key = "a" }))
      misuse(store:commit()) -- rolls back
      assert(helper.put(store, "a", "1"))
    end)

    it("of one store does not see what another has not committed", function()
      local other = assert(helper.open(url))
      assert(store:begin("open"))
      assert(store:send("meta_put", { key = "a", value = "1" }))
      assert.is_nil(helper.get(other, "a"))
      assert(store:commit())
      assert.equal("1", helper.get(other, "a"))
    end)

    it("is told of by the clock given, or the database's own", function()
      assert.is_true(store:now() == nil or backend.name == "sqlite")
      local at = 1000000
      local timed = assert(helper.open(backend.url(),
                                       { clock = function() return at end }))
      assert.equal(1000000, timed:now())
      at = 2000000
      assert.equal(2000000, timed:now())
      local rows = helper.ask(timed, "migration_list")
      assert.equal(1000000, rows[1].applied_at)
    end)
  end)
end

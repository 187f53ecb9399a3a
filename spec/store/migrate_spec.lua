local backends = require "spec.support.backends"
local helper = require "spec.store.helper"
local build = require "spec.support.build"
local process = require "spec.support.process"

-- A child that opens a store when told to, and says what it found.
local OPENER = [[
local path = package.searchpath("pawl.core", package.cpath)
local probe = package.loadlib(path, "luaopen_pawl_probe")()
local store, err = probe.open(arg[1], { shards = tonumber(arg[2]) })
if not store then
  print("failed", err.code, err.message)
  os.exit(1)
end
print("opened", store:shards(), store:versions())
]]

for _, backend in ipairs(backends) do
  describe("the schema of a store on " .. backend.name, function()
    local tables = backend.name == "postgres" and "pawl." or "pawl_"
    local url

    before_each(function() url = backend.url() end)

    after_each(function()
      process.stop_all()
      helper.cleanup()
      backend.cleanup()
    end)

    it("is made when the store is empty, once", function()
      local store = assert(helper.open(url, { shards = 7 }))
      assert.same({ 0, 1 }, { store:versions() })
      assert.equal(7, store:shards())
      assert.equal(backend.name, store:driver())
      local again = assert(helper.open(url, { shards = 3 }))
      assert.same({ 1, 1 }, { again:versions() })
      assert.equal(7, again:shards())
      local rows = helper.ask(again, "migration_list")
      assert.equal(1, #rows)
      assert.equal("0001_first", rows[1].name)
    end)

    it("is not made when that is not wanted", function()
      local store, err = helper.open(url, { create = false })
      assert.is_nil(store)
      assert.equal("notfound", err.code)
      assert.matches("pawl migrate", err.hint)
      assert(helper.open(url)):close()
      assert(helper.open(url, { create = false }))
    end)

    it("refuses a number of shards that cannot be", function()
      for _, shards in ipairs { -1, 32768 } do
        local store, err = helper.open(url, { shards = shards })
        assert.is_nil(store)
        assert.equal("invalid", err.code)
      end
    end)

    local function add_version(number, breaking)
      backend.sql(url, ("insert into %smigration values (%d, '%s', %s, %s)")
        :format(tables, number, ("%04d_later"):format(number),
                backend.name == "postgres" and tostring(breaking) or
                (breaking and "1" or "0"),
                backend.name == "postgres" and "now()" or "0"))
    end

    it("of a newer pawl is used unless that would break it", function()
      assert(helper.open(url)):close()
      add_version(2, false)
      local store = assert(helper.open(url))
      assert.same({ 2, 2 }, { store:versions() })
      store:close()
      add_version(3, true)
      local refused, err = helper.open(url)
      assert.is_nil(refused)
      assert.equal("store_new", err.code)
      assert.matches("0003_later", err.message)
      assert.matches("schema 1", err.message)
      assert.matches("upgrade this program", err.hint)
    end)

    it("of an older pawl is upgraded only when asked", function()
      assert(helper.open(url)):close()
      -- Older than the first: as if nothing had been applied.
      backend.sql(url, ("delete from %smigration"):format(tables))
      local refused, err = helper.open(url)
      assert.is_nil(refused)
      assert.equal("store_old", err.code)
      assert.matches("pawl migrate", err.hint)
      -- Asked, it applies what is missing; here that collides with what is
      -- there, and nothing of it stays.
      refused, err = helper.open(url, { migrate = true })
      assert.is_nil(refused)
      assert.equal("migration 0001_first", err.where)
      assert.equal("store_old", select(2, helper.open(url)).code)
    end)

    it("is damaged when nobody knows the shards", function()
      assert(helper.open(url)):close()
      backend.sql(url, ("delete from %smeta"):format(tables))
      local refused, err = helper.open(url)
      assert.is_nil(refused)
      assert.equal("corrupt", err.code)
      assert.matches("shards", err.hint)
    end)

    it("is made once when many begin at the same time", function()
      local children = {}
      for i = 1, 6 do
        children[i] = process.start(
          { "lua5.4", "-", url, tostring(i) },
          { env = build.env, stdin = OPENER })
      end
      local answers = {}
      for i, child in ipairs(children) do
        assert.equal(0, child:wait(30), child:output() .. child:errors())
        answers[child:output():match("opened\t(%d+)")] = true
        assert.matches("opened\t%d+\t[01]\t1\n", child:output())
        children[i] = nil
      end
      assert.is_not_nil(next(answers))
      assert.is_nil(next(answers, (next(answers)))) -- all say the same
      assert.equal(1, #helper.ask(assert(helper.open(url)), "migration_list"))
    end)
  end)
end

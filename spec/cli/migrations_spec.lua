--- `pawl migrate --print`: what is printed, run by hand, is a store as
--- `migrate` makes it, and the rights printed with it are enough.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local pawl = require "pawl"
local schema = require "spec.support.schema"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local FLOW = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.one", start = "a" }
w:step("a", { next = "b", run = function() end })
w:wait("b", { event = "go", next = { received = "z" } })
w:finish "z"
return w
]]

--- All that a SQLite file has, but for when, and its secret.
local function dump(path)
  local text = shell.output { "sqlite3", path, ".dump" }
  return (text:gsub("(0001_first',0),%d+", "%1")
    :gsub("('callback',')%x+", "%1"))
end

describe("a schema that is printed", function()
  local folder
  before_each(function() folder = command.folder() end)

  it("makes the store that migrate makes, in a file", function()
    local printed = folder:pawl("migrate", "--print", "--shards", "3")
    assert.equal(0, printed.code, printed.err)
    assert.is_nil(io.open(folder.dir .. "/pawl.db"))
    folder:write("schema.sql", printed.out)
    shell.output { "sh", "-c", "cd " .. folder.dir
      .. " && sqlite3 -bail hand.db <schema.sql" }
    assert.equal(0, folder:pawl("migrate", "--shards", "3").code)
    assert.equal(dump(folder.dir .. "/pawl.db"),
      dump(folder.dir .. "/hand.db"))
    local again = folder:pawl("migrate", "--print", "--store", "hand.db")
    assert.equal("-- schema 1: nothing is to be done\n", again.out)
    folder:write("flow.lua", FLOW)
    local ran = folder:pawl("worker", "flow.lua", "--until-idle", "--store",
      "hand.db")
    assert.equal(0, ran.code, ran.err)
    assert.equal(3, folder:json("migrate", "--store", "hand.db").shards)
  end)

  it("is refused where it could not be run", function()
    folder:write("mine.db", "something else")
    local ran = folder:pawl("migrate", "--print", "--store", "mine.db")
    assert.not_equal(0, ran.code)
    assert.equal("", ran.out)
    ran = folder:pawl("migrate", "--grants")
    assert.equal(2, ran.code)
    assert.matches("%-%-grants is for PostgreSQL", ran.err)
    assert.is_nil(io.open(folder.dir .. "/pawl.db"))
    folder:pawl("migrate", "--shards", "2")
    ran = folder:pawl("migrate", "--print", "--shards", "3")
    assert.matches("the store has 2 shards, not 3", ran.err)
  end)

  it("is told in Lua, with what it is for", function()
    local path = tmp.path "none.db"
    local found = assert(pawl.migrations(path, { shards = 4 }))
    assert.equal("sqlite", found.store)
    assert.is_nil(found.schema)
    assert.equal(0, found.from)
    assert.equal(found.to, #found.migrations)
    assert.equal(4, found.shards)
    assert.equal("0001_first", found.migrations[1].name)
    assert.is_false(found.migrations[1].breaking)
    local _, err = pawl.migrations(path, { schema = "other" })
    assert.equal("invalid", err.code)
  end)
end)

describe("a schema that an administrator makes", function()
  local backend = backends[2]
  if not backend then
    pending "PAWL_TEST_PG is not set"
    return
  end
  local folder, url, made
  local ROLES <const> = { "worker", "operator", "reader", "owner" }

  before_each(function()
    folder, url, made = command.folder(), backend.url(), {}
    folder:write("flow.lua", FLOW)
  end)

  after_each(function()
    for name in pairs(made) do
      backend.sql(url, ("set client_min_messages = error;"
        .. " drop schema if exists %s cascade; select 1 as done"):format(name))
      for _, role in ipairs(ROLES) do
        backend.sql(url, ("drop owned by %s_%s; drop role %s_%s; "
          .. "select 1 as done"):format(name, role, name, role))
      end
    end
    backend.cleanup()
  end)

  --- `name`: of the schema, whose roles are made first.
  local function make(name, ...)
    made[name] = true
    local line = { "migrate", "--print", "--grants", ... }
    line[#line + 1] = { env = { PAWL_STORE = url, PAWL_SCHEMA = name } }
    local printed = folder:pawl(table.unpack(line))
    assert.equal(0, printed.code, printed.err)
    local roles = printed.out:gsub("\n%-%- (create [^\n]*)", "\n%1")
    -- Roles come first, and the schema is theirs.
    local first = {}
    for role in roles:gmatch "\n(create role [^\n]*)" do
      first[#first + 1] = role
    end
    first[#first + 1] = "select 1 as done"
    backend.sql(url, table.concat(first, "\n"))
    local path = folder:write("schema.sql", printed.out)
    shell.output { "psql", "--no-psqlrc", "--quiet", "--single-transaction",
      "--set=ON_ERROR_STOP=1", "--dbname=" .. url:gsub("^postgres:", ""),
      "--file=" .. folder.dir .. "/" .. path }
    return printed.out
  end


  local function words(name, role, line)
    local list = {}
    for word in line:gmatch "%S+" do list[#list + 1] = word end
    list[#list + 1] = { env = { PAWL_SCHEMA = name,
      PAWL_STORE = url:gsub("user=%S+", "user=" .. name .. "_" .. role) } }
    return folder:pawl(table.unpack(list))
  end

  local function may(name, role, line)
    local ran = words(name, role, line)
    assert.equal(0, ran.code, line .. ": " .. ran.err)
    return ran.out
  end

  for _, name in ipairs { "pawl", "billing" } do
    it("is a store, and its roles may do what they are for: " .. name,
      function()
        make(name, "--shards", "2")
        may(name, "worker", "worker flow.lua --until-idle --processes 1")
        local id = pawl.json.decode(may(name, "operator",
          "start t.one --json")).id
        may(name, "worker", "worker flow.lua --until-idle --processes 1")
        may(name, "operator", "cancel " .. id)
        local told = pawl.json.decode(may(name, "reader",
          "show " .. id .. " --json"))
        assert.equal("cancelled", told.status)
        assert.not_equal(0, words(name, "reader", "start t.one").code)
        local function sql(role, text)
          return pcall(backend.sql, url, ("set role %s_%s; %s"):format(name,
            role, text))
        end
        local ok, rows = sql("reader", ("select status from %s.instance_view")
          :format(name))
        assert.is_true(ok, rows)
        assert.equal("cancelled", rows[1].status)
        for role, text in pairs {
          reader = "delete from %s.history", operator =
            "update %s.workflow set source = source",
          worker = "update %s.meta set value = '3'",
        } do
          local done, err = sql(role, text:format(name))
          assert.is_false(done, text)
          assert.matches("permission denied", err)
        end
        -- The functions have the rights of who calls.
        ok, rows = sql("operator", ("select %s.start('t.one') as id"):format(
          name))
        assert.is_true(ok, rows)
        local started = rows[1].id
        ok, rows = sql("operator", ([[select %s.signal('go', '1',
          json_build_object('instance', '%s')) as told]]):format(name,
          started))
        assert.is_true(ok, rows)
        ok, rows = sql("reader", ("select status from %s.result('%s')")
          :format(name, started))
        assert.is_true(ok, rows)
        assert.equal("created", rows[1].status)
        for _, text in ipairs { "start('t.one')", "signal('go')" } do
          local done, err = sql("reader", ("select %s.%s"):format(name, text))
          assert.is_false(done, text)
          assert.matches("permission denied", err)
        end
        may(name, "worker", "worker flow.lua --until-idle --processes 1")
        assert.equal("completed", pawl.json.decode(may(name, "reader",
          "show " .. started .. " --json")).status)
      end)
  end

  it("is the schema that migrate makes, and is made once", function()
    make "pawl"
    local by_hand = backend.sql(url, schema.COLUMNS)
    local _, _, other = backend.fresh()
    local made_so = backend.sql(other, schema.COLUMNS)
    assert.equal(schema.page(made_so), schema.page(by_hand))
    local again = words("pawl", "worker", "migrate --print")
    assert.equal("-- schema 1: nothing is to be done\n", again.out)
    local ok, err = pcall(shell.output, { "psql", "--no-psqlrc", "--quiet",
      "--single-transaction", "--set=ON_ERROR_STOP=1",
      "--dbname=" .. url:gsub("^postgres:", ""),
      "--file=" .. folder.dir .. "/schema.sql" })
    assert.is_false(ok)
    assert.matches("already exists", err)
  end)

  it("has the rights of docs/security.md", function()
    local out = make "pawl"
    local blocks = {}
    for text in tmp.read "docs/security.md":gmatch "\n```sql\n(.-)```" do
      blocks[#blocks + 1] = text
    end
    assert.truthy(out:find(blocks[2], 1, true))
    assert.truthy(out:gsub("\n%-%- ", "\n"):find(blocks[1], 1, true))
  end)
end)

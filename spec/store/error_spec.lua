local backends = require "spec.support.backends"
local helper = require "spec.store.helper"
local shell = require "spec.support.shell"
local system = require "system"
local tmp = require "spec.support.tmp"

--- Opens what cannot be opened.
local function refusal(url, options)
  local store, err = helper.open(url, options)
  assert.is_nil(store)
  assert.is_true(#err.message > 0)
  return err
end

local as_root = shell.output { "id", "-u" }:match("^0")

describe("a store on sqlite that cannot be opened", function()
  after_each(helper.cleanup)

  it("is named: a missing file, when none is to be made", function()
    local path = tmp.path("none.db")
    local err = refusal(path, { create = false })
    assert.equal("notfound", err.code)
    assert.matches("none%.db", err.message)
    assert.matches("pawl migrate", err.hint)
    assert.is_nil(tmp.read(path))
  end)

  it("is named: a missing folder", function()
    local err = refusal(tmp.path("nowhere") .. "/a.db")
    assert.equal("notfound", err.code)
    assert.matches("no folder .*nowhere", err.message)
  end)

  it("is named: no file, but something else's URL", function()
    for url, message in pairs {
      ["mysql://root:s3cret@host/db"] = 'named "mysql:"',
      ["Postgres://u:s3cret@host/db"] = 'named "Postgres:"',
      ["file:///srv/a.db"] = 'named "file:"',
      ["host=localhost password=s3cret"] = "connection string",
      ["dbname = shop"] = "connection string",
      ["sslmode=prefer\tdbname\t= shop"] = "connection string",
      ["postgres//u:s3cret@host/db"] = "mistyped",
      [" postgres://u:s3cret@host/db"] = "begins with white space",
      ["pawl.db\n"] = "ends with white space",
    } do
      local err = refusal(url)
      assert.equal("invalid", err.code, url)
      assert.matches(message, err.message, 1, true)
      assert.matches("sqlite:", err.hint, 1, true)
      assert.matches("postgres:", err.hint, 1, true)
      assert.not_matches("s3cret", err.message .. err.hint)
    end
    local err = refusal("sqlite:host=x", { create = false })
    assert.equal("notfound", err.code)
  end)

  it("is named: a folder", function()
    local err = refusal(tmp.dir())
    assert.equal("not_a_store", err.code)
    assert.matches("is a folder", err.message)
  end)

  it("is named: no ordinary file", function()
    assert.equal("not_a_store", refusal("/dev/null").code)
  end)

  it("is named: an empty path", function()
    assert.equal("invalid", refusal("sqlite:").code)
  end)

  it("is named: a file that is no database, and is left alone", function()
    local text = ("This is a letter to a friend.\n"):rep(100)
    local path = tmp.file("letter.txt", text)
    local err = refusal(path)
    assert.equal("not_a_store", err.code)
    assert.matches("letter%.txt", err.message)
    assert.equal(text, tmp.read(path))
    assert.is_nil(tmp.read(path .. "-pawl-lock"))
  end)

  it("is named: another program's database, and is left alone", function()
    for _, sql in ipairs { "create table song (title)",
                           "pragma application_id=42; vacuum" } do
      local path = tmp.path("songs.db")
      shell.output { "sqlite3", path, sql }
      local before = tmp.read(path)
      local err = refusal(path)
      assert.equal("not_a_store", err.code)
      assert.matches("something else", err.message)
      assert.matches("file of its own", err.hint)
      assert.is_true(before == tmp.read(path))
      assert.is_nil(tmp.read(path .. "-pawl-lock"))
    end
  end)

  it("is named: a file that may not be written", function()
    if as_root then return pending("root may write everything") end
    local path = tmp.path("ro.db")
    helper.open(path):close()
    shell.output { "chmod", "400", path }
    assert.equal("readonly", refusal(path).code)
    shell.output { "chmod", "000", path }
    assert.equal("auth", refusal(path).code)
    local dir = tmp.dir()
    shell.output { "chmod", "500", dir }
    assert.equal("readonly", refusal(dir .. "/new.db").code)
  end)

  it("is named: damaged", function()
    local path = tmp.path("damaged.db")
    local store = helper.open(path)
    for i = 1, 100 do
      assert(helper.put(store, "k" .. i, ("x"):rep(1000)))
    end
    store:close()
    local text = tmp.read(path)
    local file <close> = io.open(path, "wb")
    file:write(text:sub(1, 200), ("\xaa"):rep(#text - 200))
    file:close()
    assert.equal("corrupt", refusal(path).code)
  end)
end)

describe("a store file on sqlite", function()
  after_each(helper.cleanup)

  it("may have any name a file may have", function()
    local dir = tmp.dir()
    for _, name in ipairs { "a b.db", "file:x?mode=memory", "ü.db",
                            "%20.db", ":memory:x" } do
      local path = dir .. "/" .. name
      local store = assert(helper.open(path))
      assert(helper.put(store, "a", "1"))
      store:close()
      assert.is_not_nil(tmp.read(path), name)
      assert.equal("1", helper.get(assert(helper.open("sqlite:" .. path)),
                                   "a"))
    end
  end)

  it("is marked as ours", function()
    local path = tmp.path("ours.db")
    helper.open(path):close()
    assert.equal("1348564844\n", shell.output { "sqlite3", path,
                                                "pragma application_id" })
  end)

  it("in memory is each store's own", function()
    local one = assert(helper.open(":memory:"))
    local two = assert(helper.open(":memory:"))
    assert(helper.put(one, "a", "1"))
    assert.is_nil(helper.get(two, "a"))
  end)

  it("says so when another writes for too long", function()
    local path = tmp.path("busy.db")
    local one = assert(helper.open(path))
    local two = assert(helper.open(path))
    assert(one:begin("open"))
    assert(one:send("meta_put", { key = "a", value = "1" }))
    local began = system.monotime()
    local ok, err = two:begin("batch")
    assert.is_nil(ok)
    assert.equal("busy", err.code)
    assert.equal("55P03", err.sqlstate)
    assert.matches("try again", err.hint)
    assert.is_true(system.monotime() - began < 8)
    assert.is_nil(helper.get(two, "a")) -- reading is never in the way
    assert(one:commit())
    assert.equal("1", helper.get(two, "a"))
    assert(helper.put(two, "a", "2"))
  end)
end)

local server = os.getenv("PAWL_TEST_PG")
if not server then return end
local over_tcp = os.getenv("PAWL_TEST_PG_TCP")

describe("a store on postgres that cannot be opened", function()
  after_each(helper.cleanup)

  it("is named: nobody answers", function()
    local err = refusal("postgres:host=127.0.0.1 port=1 password=s3cret")
    assert.equal("unreachable", err.code)
    assert.matches('at "127.0.0.1", port 1 failed: .*refused', err.message)
    assert.not_matches("s3cret", err.message .. err.hint)
    err = refusal("postgres://u:s3cret@/db?host=/nowhere")
    assert.equal("unreachable", err.code)
    assert.matches("/nowhere/", err.message)
    assert.not_matches("s3cret", err.message .. err.hint)
  end)

  it("is named: a host that is none", function()
    local err = refusal("postgres://u:s3cret@no_host.invalid/db")
    assert.equal("unreachable", err.code)
    assert.matches('host name "no_host.invalid"', err.message, 1, true)
    assert.matches("check the host", err.hint)
    assert.not_matches("s3cret", err.message .. err.hint)
  end)

  it("is named: a setting that makes no sense", function()
    for settings, message in pairs {
      ["port=12x"] = "what stands for the port is no number",
      ["port=99999"] = 'invalid port number: "99999"',
      ["host=a,b,c port=1,2"] = "2 port numbers to 3 hosts",
      ["sslmode=bogus"] = "invalid sslmode value",
      ["sslmod=require"] = 'there is no option "sslmod"',
      ["pasword=s3cret"] = 'there is no option "pasword"',
    } do
      local err = refusal("postgres:host=127.0.0.1 " .. settings)
      assert.equal("invalid", err.code, settings)
      assert.matches(message, err.message, 1, true)
      assert.not_matches("s3c", err.message .. (err.hint or ""))
    end
    local err = refusal("postgres://u:s3cret@127.0.0.1/db?sslmod=require")
    assert.matches('no option "sslmod"', err.message, 1, true)
    assert.not_matches("s3c", err.message)
  end)

  it("is named: no such database", function()
    local err = refusal("postgres:" .. server .. " dbname=no_such_db")
    assert.equal("notfound", err.code)
    assert.equal("3D000", err.sqlstate)
    assert.matches("createdb", err.hint)
  end)

  it("is named: no such user, a wrong password, none", function()
    local err = refusal("postgres:" .. server .. " user=nobody_we_know")
    assert.equal("auth", err.code)
    assert.equal("28000", err.sqlstate)
    if not over_tcp or not over_tcp:find("password=") then return end
    err = refusal("postgres:" .. over_tcp .. " password=wr0ng")
    assert.equal("auth", err.code)
    assert.equal("28P01", err.sqlstate)
    assert.not_matches("wr0ng", err.message .. err.hint)
    err = refusal("postgres:" .. over_tcp:gsub("password=%S+", ""))
    assert.equal("auth", err.code)
  end)

  it("is named without what may be of its password", function()
    for _, url in ipairs {
      "postgres:host=x pasword=s3cret", "postgres:host=x password=a s3cret=",
      "postgres:host=x password=a s3cret", "postgres:password='s3cret",
      "postgres:sslmode=s3cret host=127.0.0.1",
      "postgres://u:s3c%ret@host/db", "postgres://u:s3cret@host:12x/db",
      "postgres://u:p@host/db?password=a&s3cret=1",
      "postgres://u:pa@s3cret@127.0.0.1:1/db",
      "postgres://u:pa@%733cret@127.0.0.1:1/db",
      "postgres://u:s3cret/x@127.0.0.1:1/db",
      'postgres://u:pa@"s3cret@127.0.0.1:1/db',
    } do
      local err = refusal(url)
      assert.is_true(err.code == "invalid" or err.code == "unreachable", url)
      assert.not_matches("s3c", err.message .. (err.hint or ""), url)
    end
    assert.matches("%%40", refusal("postgres://u:a@b@127.0.0.1:1/db").hint)
  end)

  it("is named: the schema is somebody else's", function()
    local backend = backends[#backends]
    local url = backend.url()
    backend.sql(url, "create schema pawl; create table pawl.song (t text)")
    assert.equal("not_a_store", refusal(url).code)
    backend.cleanup()
  end)
end)

describe("a store on postgres", function()
  local backend = backends[#backends]
  local url

  before_each(function() url = backend.url() end)

  after_each(function()
    helper.cleanup()
    backend.cleanup()
  end)

  it("keeps to the limits of its server, or brings its own", function()
    local store = assert(helper.open(url))
    local function setting(name)
      assert(store:begin("open"))
      local rows = assert(store:query("select current_setting('" .. name
                                      .. "') as s"))
      store:rollback()
      return rows[1].s
    end
    assert.equal("1min", setting("statement_timeout"))
    assert.equal("30s", setting("idle_in_transaction_session_timeout"))
    assert.equal("pawl", setting("application_name"))
    store = assert(helper.open(url .. " options='-c statement_timeout=5s' "
                               .. "application_name=mine"))
    assert.equal("5s", setting("statement_timeout"))
    assert.equal("mine", setting("application_name"))
  end)

  it("says so when it may only be read", function()
    helper.open(url):close()
    local store = assert(helper.open(
      url .. " options='-c default_transaction_read_only=on'"))
    local ok, err = helper.put(store, "a", "1")
    assert.is_nil(ok)
    assert.equal("readonly", err.code)
    assert.equal("25006", err.sqlstate)
    assert.is_nil(helper.get(store, "a"))
  end)

  it("says so when a row is locked for too long", function()
    helper.open(url):close()
    local one = assert(helper.open(url))
    local two = assert(helper.open(url .. " options='-c lock_timeout=50ms'"))
    assert(one:begin("open"))
    assert(one:send("meta_put", { key = "shards", value = "1" }))
    local ok, err = helper.put(two, "shards", "1")
    assert.is_nil(ok)
    assert.equal("busy", err.code)
    assert.equal("55P03", err.sqlstate)
    assert(one:commit())
    assert(helper.put(two, "shards", "1"))
  end)

  it("says so when its schema was dropped", function()
    local store = assert(helper.open(url))
    backend.sql(url, "drop schema pawl cascade")
    local ok, err = helper.put(store, "a", "1")
    assert.is_nil(ok)
    assert.equal("not_a_store", err.code)
  end)

  it("undoes a batch that fails only when it is committed", function()
    local store = assert(helper.open(url))
    backend.sql(url, [[
      create function pawl.no() returns trigger language plpgsql
        as 'begin raise exception ''late'' using errcode = ''40001''; end';
      create constraint trigger late after insert on pawl.meta
        deferrable initially deferred for each row execute function pawl.no()
    ]])
    for _, kind in ipairs { "batch", "open" } do
      local ok, err = helper.unit(store, kind,
                                  { "meta_put", { key = "a", value = "1" } })
      assert.is_nil(ok)
      assert.equal("busy", err.code)
      assert.equal("40001", err.sqlstate)
      assert.is_nil(helper.get(store, "a"))
    end
  end)

  it("goes on after a table was changed under its statements", function()
    local store = assert(helper.open(url))
    assert(helper.put(store, "a", "1"))
    assert.equal("1", helper.get(store, "a"))
    backend.sql(url, "alter table pawl.meta alter value type varchar(90)")
    local rows, err = helper.unit(store, "read",
                                  { "meta_get", { key = "a" } })
    assert.is_nil(rows)
    assert.equal("0A000", err.sqlstate)
    assert.equal("1", helper.get(store, "a"))
  end)
end)

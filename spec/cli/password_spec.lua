-- Nothing that a command prints holds a password of its store's URL, however
-- it is written there.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local pawl = require "pawl"

local FLOW = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.secret", start = "a" }
w:step("a", { next = "w", run = function() end })
w:wait("w", { event = "go", next = "z" })
w:finish "z"
return w
]]

-- HOST is a folder of sockets. Whoever writes one of these wrongly has a
-- password that libpq takes for something else.
local FORMS = {
  "postgres://app:canary@/DB?host=HOST&port=PORT",
  "postgresql://app:canary@/DB?host=HOST&port=PORT",
  "postgres://app:x@canary@/DB?host=HOST&port=PORT",
  "postgres://app:x%40canary@/DB?host=HOST&port=PORT",
  "postgres://app:%63anary@/DB?host=HOST&port=PORT",
  "postgres://app:x/canary@/DB?host=HOST&port=PORT",
  "postgres://app:x:canary@/DB?host=HOST&port=PORT",
  "postgres://app:x?canary@/DB?host=HOST&port=PORT",
  "postgres://app:x#canary@/DB?host=HOST&port=PORT",
  "postgres://app:x canary@/DB?host=HOST&port=PORT",
  "postgres://app:ca\nnary@/DB?host=HOST&port=PORT",
  "postgres://app:x\ncanary@/DB?host=HOST&port=PORT",
  "postgres://app@/DB?host=HOST&port=PORT&password=canary",
  "postgres://app@/DB?password=canary&host=HOST&port=PORT",
  "postgres://app@/DB?host=HOST&port=PORT&pass%77ord=canary",
  "postgres://app@/DB?host=HOST&port=PORT&sslpassword=canary",
  "postgres://app@/DB?host=HOST&port=PORT&passfile=/canary",
  "postgres://%61pp:canary@/DB?host=HOST&port=PORT",
  "postgres://app:canary@/DB?host=HOST&port=PORT&foo=bar",
  "postgres://app:canary@/nowhere?host=HOST&port=PORT",
  "postgres://app:canary@/DB?host=HOST&port=1",
  "postgres:host=HOST port=PORT dbname=DB user=app password=canary",
  "postgres:password=canary host=HOST port=PORT dbname=DB user=app",
  "postgres:host=HOST port=PORT dbname=DB user=app password='my canary'",
  "postgres:host=HOST port=PORT dbname=DB user=app password='my\\' canary'",
  "postgres:host=HOST port=PORT dbname=DB user=app password =canary",
  "postgres:host=HOST port=PORT dbname=DB user=app password = canary",
  "postgres:host=HOST port=PORT dbname=DB user=app password = 'a canary'",
  "postgres:host=HOST port=PORT dbname=DB user=app password=my\\ canary",
  "postgres:host=HOST port=PORT dbname=DB user=app password=my canary",
  "postgres:host=HOST port=PORT dbname=DB user=app sslpassword=canary",
  "postgres:host=HOST port=PORT dbname=DB user=app password\t=\tcanary",
  "postgres:host=HOST port=1 dbname=DB user=app password = canary",
  "postgres:dbname=postgres://app:canary@/DB?host=HOST&port=PORT",
  "postgres:dbname='host=HOST password=canary' host=HOST port=PORT user=app",
  "postgres:service=none password=canary",
  "host=HOST port=PORT dbname=DB user=app password=canary",
  "sslmode=prefer password=canary host=HOST",
  "application_name=x  password = canary",
}

-- Mistyped, or with what an env file had around it. None is taken for a file,
-- or for a database's name.
local MISTYPED = {
  "mysql://app:canary@host/DB",
  " postgres://app:canary@/DB?host=HOST&port=PORT",
  "\tpostgres://app:canary@/DB?host=HOST&port=PORT",
  "\npostgres://app:canary@/DB?host=HOST&port=PORT",
  "postgres://app:canary@/DB?host=HOST&port=PORT\n",
  "postgres://app:canary@/DB?host=HOST&port=PORT ",
  "postgres://app:canary@host/DB\r",
  "\"postgres://app:canary@host/DB\"",
  "PAWL_STORE=postgres://app:canary@host/DB",
  "= postgres://app:canary@host/DB",
  "Postgres://app:canary@host/DB",
  "POSTGRESQL://app:canary@host/DB",
  "pg://app:canary@host/DB",
  "postgres//app:canary@host/DB",
  "postgresql//app:canary@host/DB",
  "postgres//app@host/DB?pass%77ord=canary",
  "pgsql//app@host/DB?password=canary",
  "postgres/app:canary@host/DB",
  "postgres/app@host/DB?password=canary",
  "postgres;//app:canary@host/DB",
  "postgres.//app:canary@host/DB",
  "postgres ://app:canary@host/DB",
  "postgres@host/DB;Password = canary",
  "postgres:/app:canary@host/DB",
  "postgres:/app:canary@host/DB?sslmode=prefer",
  "postgres:/app@host/DB?password=canary",
  "postgres:app:canary@host/DB",
  "postgres:app:canary@host/DB?sslmode=prefer",
  "postgres: //app:canary@host/DB",
  "postgres: //app:canary@host/DB?sslmode=prefer",
  "postgres:\\\\app:canary@host/DB",
  "postgres::app:canary@host/DB",
  "postgres:host HOST password canary",
  "postgres:host=HOST app:canary@host=x",
  "postgres:host=app:canary@host",
  "postgres:host=host?password=canary",
  "postgres:dbname=postgres//app:canary@host/DB",
  "postgres:///app:canary@host/DB",
  "postgres://app:canary/127.0.0.1:5432/DB",
  "postgres://app:canary:127.0.0.1:5432/DB",
  "postgres:host=app port=canary",
  "postgres://host/app:canary@DB",
  "postgres://app@host/DB&password=canary",
  "postgres://app@host;password=canary/DB",
  "postgresql:/app:canary@host/DB",
  "postgresql:app:canary@host/DB",
  "postgresql:host=HOST password=canary",
  "jdbc:postgresql://host/DB?user=app&password=canary",
  "pgsql:host=HOST;dbname=DB;password=canary",
  "Server=host;Database=DB;Password=canary",
  "://app:canary@host/DB",
  "//app:canary@host/DB",
  "app:canary@host/DB",
  "app:canary@host:5432",
  "mysql:/app:canary@host/DB",
  "mysql//app:canary@host/DB",
}

--- As `hint` or `store` has it: with no part of the password.
local ESCAPES = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" }
local function clean(form) return (form:gsub("%c", ESCAPES)) end

describe("the password of a store's URL", function()
  local backend = backends[2]
  if not backend then
    pending "PAWL_TEST_PG is not set"
    return
  end
  local folder, url, id, parts

  lazy_setup(function()
    folder = command.folder()
    folder:write("flow.lua", FLOW)
    url = backend.url()
    parts = { HOST = url:match "host=(%S+)", PORT = url:match "port=(%d+)",
      DB = url:match "dbname=(%S+)$" }
    backend.sql(url, [[do $$ begin create role app superuser login;
      exception when duplicate_object then null; end $$; select 1 as done]])
    assert.equal(0, folder:pawl("start", "t.secret", "--store", url).code)
    assert.equal(0, folder:pawl("worker", "flow.lua", "--until-idle",
      "--processes", "1", "--store", url).code)
    id = (folder:json("list", "--store", url))[1].id
  end)

  lazy_teardown(backend.cleanup)

  local function lines()
    return {
      { "worker", "flow.lua", "--until-idle", "--processes", "1" },
      { "explain", id },
      { "show", "00000000-dead" },
      { "run", "flow.lua" },
      { "migrate" },
      { "start", "t.secret" },
      { "health" },
      { "list" },
    }
  end

  local function assert_silent(said, form, line)
    local where = clean(form) .. ": " .. table.concat(line, " ")
    for _, part in ipairs { "canary", "nary", "%63anary" } do
      assert.falsy(said:lower():find(part, 1, true),
        where .. " says " .. said)
    end
  end

  --- Each line's run, by the environment and by the option, which hints
  --- repeat.
  local function each_run(form, check)
    local given = form:gsub("%u+", parts)
    for i, line in ipairs(lines()) do
      -- A worker waits for a server that is not there.
      if i == 1 and form:find "port=1" then line = { "list" } end
      local words = { table.unpack(line) }
      if i % 2 == 0 then
        words[#words + 1] = "--store"
        words[#words + 1] = given
        words[#words + 1] = {}
      else
        words[#words + 1] = { env = { PAWL_STORE = given } }
      end
      local ran = folder:pawl(table.unpack(words))
      assert_silent(ran.out .. ran.err, form, line)
      assert.not_matches("pawl: usage:", ran.err, 1, true)
      if check then check(ran, line) end
    end
  end

  for _, form in ipairs(FORMS) do
    it("is not shown: " .. clean(form), function()
      each_run(form)
    end)
  end

  it("is not repeated where something else belongs", function()
    local URL = "postgres://app:canary@host/DB"
    for _, line in ipairs { { URL }, { URL, "list" }, { "list", URL },
      { "worker", URL }, { "start", URL }, { "run", URL }, { "show", URL },
      { "list", "postgres:app:canary@host" }, { "list", "app:canary@host" },
      { "signal", " " .. URL }, { "health", "postgresql:/app:canary@h" } } do
      local ran = folder:pawl(table.unpack(line))
      assert_silent(ran.out .. ran.err, URL, line)
      assert.equal(2, ran.code)
      assert.matches("%-%-store URL", ran.err)
    end
  end)

  for _, form in ipairs(MISTYPED) do
    it("is refused: " .. clean(form), function()
      each_run(form, function(ran, line)
        assert.equal("", ran.out, table.concat(line, " "))
        assert.not_equal(0, ran.code, table.concat(line, " "))
        assert.matches("pawl: invalid: ", ran.err, 1, true)
      end)
      local engine, err = pawl.open((form:gsub("%u+", parts)))
      assert.is_nil(engine)
      assert.equal("invalid", err.code)
      assert_silent(err.message .. (err.hint or ""), form, { "pawl.open" })
    end)
  end

  it("is not in the name of any file", function()
    for name in io.popen("ls " .. folder.dir):lines() do
      assert.falsy(name:find("canary", 1, true), name)
    end
  end)

  it("is no concern where a file is asked for by its path", function()
    local here = command.folder()
    for _, name in ipairs { "sqlite:app:x@y.db", "./a:x@y.db",
                            "sqlite: postgres:x", "./password=x" } do
      assert.equal(0, here:pawl("migrate", "--store", name).code, name)
    end
    for _, name in ipairs { "app:x@y.db", "a:x@y.db", " postgres:x",
                            "password=x" } do
      assert(io.open(here.dir .. "/" .. name)):close()
    end
  end)

  it("is left out of what is shown instead", function()
    local given = FORMS[1]:gsub("%u+", parts)
    local ran = folder:pawl("migrate", "--store", given)
    local name = ran.out:match "^(postgres:.-) is up to date"
    assert.equal(("postgres:host=%s port=%s dbname=%s user=app")
      :format(parts.HOST, parts.PORT, parts.DB), name)
    -- It can be given back.
    assert.equal(0, folder:pawl("list", "--store", name).code)
  end)
end)

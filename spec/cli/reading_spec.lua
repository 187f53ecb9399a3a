--- Stores that may only be read: what looks works, what changes says why not.
local Cluster = require "spec.support.cluster"
local Site = require "spec.support.site"
local command = require "spec.support.command"
local pawl = require "pawl"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local system = require "system"
local tmp = require "spec.support.tmp"

local sqlite = require "spec.support.backends"[1]
local as_root = shell.output { "id", "-u" } == "0\n"

local LOOKS = { { "list" }, { "show", "ID" }, { "explain", "ID" },
  { "history", "ID" }, { "tokens", "ID", "--all" }, { "graph", "ID" },
  { "workflow", "list" }, { "outbox" }, { "task", "list", "--all" } }

local CHANGES = { { "cancel", "ID" }, { "suspend", "ID" },
  { "signal", "go", "--key", "k" }, { "start", "t.crash" } }

--- Runs pawl as somebody whom the files' rights hold back.
local function pawl_as_other(dir, ...)
  local words = { command.path, ... }
  if as_root then
    words = table.move(words, 1, #words, 5, { "setpriv", "--reuid=65534",
      "--regid=65534", "--clear-groups" })
  end
  local code, out, err = process.run(words, { cwd = dir,
    env = { PAWL_STORE = "" } })
  return { code = code, out = out, err = err }
end

--- Not in the folder of all specs, which is closed to others.
local function open_folder()
  local dir = shell.output { "mktemp", "-d", "/tmp/pawl-reading.XXXXXX" }
    :gsub("\n$", "")
  shell.output { "chmod", "755", dir }
  finally(function() shell.output { "rm", "-rf", dir } end)
  return dir
end

local function words_with(words, id, url)
  local given = {}
  for i, word in ipairs(words) do given[i] = word == "ID" and id or word end
  given[#given + 1], given[#given + 2] = "--store", url
  return table.unpack(given)
end

local function names_in(dir)
  return shell.output { "find", dir, "-printf", "%f %s\n" }
end

--- A program of somebody whom the files' rights hold back, who has `engine`
--- open, and `id` as arg[2].
local function reading(url, program, id)
  local words = { "lua5.4", "-", url, id }
  if as_root and url:sub(1, 1) == "/" then
    words = { "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
      table.unpack(words) }
  end
  return process.start(words, {
    stdin = ("package.path = %q\npackage.cpath = %q\n"):format(package.path,
      package.cpath) .. [[
local system = require "system"
local engine = assert(require "pawl".open(arg[1], { create = false }))
]] .. program })
end

--- Waits for an end twice: not long enough, and until it is there.
local WAITS = [[
local _, early = engine:result(arg[2], { timeout = 0.05 })
print(early)
io.stdout:flush()
local _, late, outcome = engine:result(arg[2], { timeout = 60 })
print(outcome and outcome.status or late)]]

describe("a SQLite file that may only be read", function()
  after_each(process.stop_all)

  local function chmod(mode, ...)
    for _, path in ipairs { ... } do
      shell.output { "chmod", mode, path }
    end
  end

  --- A store in a folder that others may enter; its instance's id.
  local function store(name)
    local folder = open_folder() .. "/a folder"
    shell.output { "mkdir", folder }
    chmod("755", folder)
    local url = folder .. "/" .. (name or "pawl.db")
    local site = Site.new(sqlite, Site.steps(), url)
    local id = site:start(1)[1]
    chmod("644", url)
    return url, folder, id
  end

  local function check(url, folder, id)
    local before = names_in(folder)
    for _, words in ipairs(LOOKS) do
      local ran = pawl_as_other(folder, words_with(words, id, url))
      assert.equal(0, ran.code, words[1] .. ": " .. ran.err)
    end
    assert.matches(id, pawl_as_other(folder, "list", "--store", url).out, 1,
      true)
    for _, words in ipairs(CHANGES) do
      local ran = pawl_as_other(folder, words_with(words, id, url))
      assert.equal(5, ran.code, words[1] .. ": " .. ran.out .. ran.err)
      assert.matches("^pawl: readonly: ", ran.err)
    end
    assert.equal(before, names_in(folder))
  end

  it("is looked at, in a folder that may be written or not", function()
    local url, folder, id = store()
    chmod("444", url)
    check(url, folder, id)
    chmod("777", folder)
    check(url, folder, id)
    chmod("755", folder)
    chmod("666", url)
    check(url, folder, id) -- the folder alone forbids it
  end)

  it("is looked at whatever it is called", function()
    local url, folder, id = store "50% #1?ü.db"
    chmod("444", url)
    check(url, folder, id)
  end)

  it("is looked at with what its -wal has, while somebody has it open",
    function()
      local url, folder, id = store()
      local engine <close> = assert(pawl.open(url))
      local late = assert(engine:start "t.crash")
      assert.truthy(tmp.read(url .. "-wal"))
      chmod("444", url, url .. "-wal", url .. "-shm")
      check(url, folder, id)
      check(url, folder, late)
      chmod("644", url, url .. "-wal", url .. "-shm")
    end)

  it("waits while somebody opens it, who has not filled its -shm yet",
    function()
      local url = store()
      local engine <close> = assert(pawl.open(url))
      assert(engine:start "t.crash")
      shell.output { "dd", "if=/dev/zero", "of=" .. url .. "-shm", "bs=136",
        "count=1", "conv=notrunc", "status=none" }
      chmod("444", url, url .. "-wal", url .. "-shm")
      local reader = reading(url, "print(#assert(engine:list {}))")
      system.sleep(0.3)
      assert.is_nil(reader:code(), reader:errors())
      assert(engine:list {})
      assert.equal(0, reader:wait(20), reader:errors())
      assert.equal("2\n", reader:output())
    end)

  -- Nobody else had it open when the reader opened it.
  it("shows what was written since, to who has it open for long", function()
    local url = store()
    chmod("444", url)
    local reader = reading(url, [[
local seen, deadline = 0, system.monotime() + 60
while seen < 3 and system.monotime() < deadline do
  local n = #assert(engine:list {})
  if n ~= seen then print(n) io.stdout:flush() end
  seen = n
  system.sleep(0.01)
end]])
    assert.truthy(reader:wait_for("1\n", 20), reader:errors())
    chmod("644", url)
    for n = 2, 3 do
      local engine = assert(pawl.open(url))
      assert(engine:start "t.crash")
      engine:close()
      assert.truthy(reader:wait_for(n .. "\n", 20), reader:errors())
    end
    assert.equal(0, reader:wait(20))
  end)

  it("lets an end be waited for", function()
    local url, _, id = store()
    chmod("444", url)
    local reader = reading(url, WAITS, id)
    assert.truthy(reader:wait_for("has not ended in time", 20),
      reader:errors())
    chmod("644", url)
    Site.new(sqlite, Site.steps(), url):drain()
    assert.equal(0, reader:wait(60), reader:errors())
    assert.matches("\ncompleted\n$", reader:output())
  end)

  it("is refused when its -wal could not be read", function()
    local url, folder, id = store()
    local engine <close> = assert(pawl.open(url))
    assert(engine:start "t.crash")
    local copy = folder .. "/copy.db"
    shell.output { "cp", url, copy }
    shell.output { "cp", url .. "-wal", copy .. "-wal" }
    chmod("444", copy, copy .. "-wal")
    local ran = pawl_as_other(folder, "show", id, "--store", copy)
    assert.equal(5, ran.code)
    assert.matches("its %-wal holds commits", ran.err)
    assert.matches("copy the file and its %-wal", ran.err)
  end)
end)

Site.each("a worker that is to end when idle", function(new, backend)
  it("ends when the store cannot be used for some seconds", function()
    local site = new(Site.steps())
    local url = site.url
    local under
    if backend.name == "sqlite" then
      url = open_folder() .. "/pawl.db"
      site = Site.new(backend, Site.steps(), url)
    end
    site:start(1)
    if backend.name == "postgres" then
      url = url .. " options='-c default_transaction_read_only=on'"
    else
      shell.output { "chmod", "444", url }
      under = as_root and { "setpriv", "--reuid=65534", "--regid=65534",
        "--clear-groups" }
    end
    local worker = site:worker { "--until-idle", url = url, under = under }
    assert.equal(5, worker:wait(60), worker:output() .. worker:errors())
    assert.matches("\npawl: readonly: ", "\n" .. worker:errors())
    -- a server may be about to be written again
    local again = worker:output():find("trying again", 1, true)
    assert.equal(backend.name == "postgres", again ~= nil)
  end)
end)

Site.each("a worker, or a relay, of a store that may not be written",
  function(new, backend)
    if backend.name ~= "sqlite" then return end

    it("says so at once, and ends", function()
      local _ = new(Site.steps())
      local url = open_folder() .. "/pawl.db"
      local site = Site.new(backend, Site.steps(), url)
      site:start(1)
      shell.output { "chmod", "444", url }
      local under = as_root and { "setpriv", "--reuid=65534",
        "--regid=65534", "--clear-groups" }
      for _, words in ipairs { { "worker" }, { "relay", "--exec", "cat" } } do
        words[#words + 1], words[#words + 2] = "--store", url
        words[#words + 1] = { under = under }
        local ran = site.folder:pawl(table.unpack(words))
        assert.equal(5, ran.code, ran.err)
        assert.matches("^pawl: readonly: ", ran.err)
      end
    end)

    it("does so where the file's name begins as a server's URL", function()
      local folder = open_folder()
      assert(pawl.open(folder .. "/postgres.db")):close()
      shell.output { "chmod", "444", folder .. "/postgres.db" }
      local ran = pawl_as_other(folder, "worker", "--until-idle",
        "--store", "postgres.db")
      assert.equal(5, ran.code, ran.err)
      assert.matches("^pawl: readonly: ", ran.err)
      assert.is_nil(ran.out:find("trying again", 1, true))
    end)
  end)

describe("a worker that is to end when idle", function()
  it("ends when nobody answers, also as several processes", function()
    local folder = command.folder()
    folder:write("flow.lua", Site.steps().text)
    for _, n in ipairs { "1", "2" } do
      local worker = folder:start("worker", "flow.lua", "--until-idle",
        "--processes", n, "--store",
        "postgres://nobody@127.0.0.1:1/none?connect_timeout=1")
      assert.equal(5, worker:wait(60), worker:output() .. worker:errors())
    end
  end)
end)

describe("a PostgreSQL that may only be read", function()
  local backend = require "spec.support.backends"[2]
  if not backend then return end

  after_each(function()
    process.stop_all()
    backend.cleanup()
  end)

  local function check(site, id, url, code, why)
    for _, words in ipairs(LOOKS) do
      local ran = site.folder:pawl(words_with(words, id, url))
      assert.equal(0, ran.code, words[1] .. ": " .. ran.err)
    end
    for _, words in ipairs(CHANGES) do
      local ran = site.folder:pawl(words_with(words, id, url))
      assert.equal(code, ran.code, words[1] .. ": " .. ran.out .. ran.err)
      assert.matches("^pawl: " .. why .. ": ", ran.err)
    end
  end

  --- While the instance runs, after `write` has let somebody write.
  local function check_wait(site, id, url, write)
    local reader = reading(url, WAITS, id)
    assert.truthy(reader:wait_for("has not ended in time", 20),
      reader:output() .. reader:errors())
    if write then write() end
    site:drain()
    assert.equal(0, reader:wait(60), reader:errors())
    assert.matches("\ncompleted\n$", reader:output())
  end

  it("is looked at by sessions that may not write", function()
    local site = Site.new(backend, Site.steps())
    local id = site:start(1)[1]
    local url = site.url .. " options='-c default_transaction_read_only=on'"
    check(site, id, url, 5, "readonly")
    check_wait(site, id, url)
  end)

  it("is looked at by roles that may not write", function()
    local site = Site.new(backend, Site.steps())
    local id = site:start(1)[1]
    local role = "pawl_reader_" .. id:sub(-12)
    site:sql("create role " .. role .. " login")
    finally(function()
      site:sql("drop owned by " .. role)
      site:sql("drop role " .. role)
    end)
    site:sql("grant usage on schema pawl to " .. role)
    site:sql("grant select on all tables in schema pawl to " .. role)
    local url = site.url:gsub("user=%S+", "user=" .. role)
    check(site, id, url, 5, "auth")
    check_wait(site, id, url)
  end)

  it("is looked at where it is a replica", function()
    local cluster = Cluster.start()
    finally(function() cluster:stop() end)
    local site = Site.new(cluster.backend, Site.steps())
    local id = site:start(1)[1]
    cluster:follow()
    check(site, id, site.url, 5, "readonly")
    check_wait(site, id, site.url, function()
      cluster:sql "select pg_promote()"
    end)
  end)
end)

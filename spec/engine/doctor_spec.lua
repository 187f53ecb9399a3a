-- What is known to be wrong with what is installed, and with a server.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local pawl = require "pawl"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local function by_id(report)
  local found = {}
  for _, finding in ipairs(report.findings) do
    found[finding.id] = finding
  end
  return found
end

local function open_ones(report)
  local ids = {}
  for _, finding in ipairs(report.findings) do
    if finding.state == "open" then ids[#ids + 1] = finding.id end
  end
  table.sort(ids)
  return ids
end

describe("the doctor", function()
  after_each(tmp.cleanup)

  it("knows the libraries that run", function()
    local report = assert(pawl.doctor())
    assert.equal(pawl.version(), report.pawl)
    assert.is_nil(report.store)
    local version = {}
    for _, library in ipairs(report.libraries) do
      version[library.name] = library.version
      if library.name == "sqlite" then
        assert.matches("THREADSAFE=%d", table.concat(library.options, " "))
      end
    end
    assert.equal(_VERSION, "Lua " .. version.lua:match "^%d+%.%d+")
    assert.equal(shell.output { "sqlite3", ":memory:",
      "select sqlite_version()" }, version.sqlite .. "\n")
    assert.matches("^%d+%.%d+$", version.libpq)
    assert.same({}, open_ones(report))
    assert.is_true(report.sound)
    assert.equal("guarded", by_id(report).lua_bytecode.state)
  end)

  it("makes no store, and tells why one cannot be looked at", function()
    local path = tmp.dir() .. "/none.db"
    local report = assert(pawl.doctor(path))
    assert.equal("sqlite", report.store.kind)
    assert.equal("notfound", report.store.error.code)
    assert.is_nil(report.store.settings)
    assert.is_false(report.sound)
    assert.is_nil(io.open(path))
    report = assert(pawl.doctor "postgres://nobody@127.0.0.1:1/none")
    assert.equal("unreachable", report.store.error.code)
    assert.is_nil(report.store.name:find "://")
  end)

  it("refuses what is no store's URL", function()
    local report, err = pawl.doctor "mysql://x/y"
    assert.is_nil(report)
    assert.equal("invalid", err.code)
    assert.has_error(function() pawl.doctor(7) end)
    assert.has_error(function() pawl.doctor(nil, { pooled = true }) end)
  end)
end)

for _, backend in ipairs(backends) do
  describe("the doctor on " .. backend.name, function()
    after_each(backend.cleanup)

    it("looks at how the store is set up", function()
      local _, _, url = backend.fresh()
      local report = assert(pawl.doctor(url))
      assert.equal(backend.name, report.store.kind)
      assert.is_nil(report.store.error)
      local settings = report.store.settings
      if backend.name == "sqlite" then
        assert.equal("wal", settings.journal_mode)
        assert.is_true(report.sound)
        assert.is_nil(report.store.version)
      else
        -- the server of these tests is as fast as it can be
        assert.same({ "postgres_fsync", "postgres_late_commits",
          "postgres_torn_pages" }, open_ones(report))
        assert.is_false(report.sound)
        assert.matches("^%d%d%.%d+$", report.store.version)
        assert.equal("UTF8", settings.server_encoding)
        assert.not_equal("changed", settings.collation)
        assert.equal("set fsync = on", by_id(report).postgres_fsync.guard)
      end
    end)

    it("tells people, and monitors by its exit code", function()
      local _, _, url = backend.fresh()
      local here = command.folder()
      local ran = here:pawl("doctor", "--store", url)
      assert.matches("^pawl %S+, lua 5%.4%.%d+, ", ran.out)
      assert.matches("known, and guarded against:\n  lua: ", ran.out)
      assert.matches("https://www.lua.org/", ran.out, 1, true)
      if backend.name == "sqlite" then
        assert.equal(0, ran.code, ran.err)
        assert.matches("\nnothing is to be done\n$", ran.out)
        assert.matches("journal_mode wal, ", ran.out)
      else
        assert.equal(1, ran.code, ran.err)
        assert.matches("to be done:\n  postgres: nothing is on disk", ran.out)
        assert.is_nil(ran.out:find "nothing is to be done")
      end
      ran = here:pawl("doctor", "--store", "none.db")
      assert.equal(1, ran.code)
      assert.matches("it cannot be looked at: .*none.db", ran.out)
      assert.matches("\nthe store cannot be looked at: see above\n$", ran.out)
    end)
  end)
end

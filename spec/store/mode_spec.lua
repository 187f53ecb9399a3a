-- Who may read and lock the files of a SQLite store.
local helper = require "spec.store.helper"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local FILES = { "", "-wal", "-shm", "-pawl-lock" }

describe("the files of a store on sqlite", function()
  local path

  before_each(function() path = tmp.dir() .. "/pawl.db" end)
  after_each(helper.cleanup)

  local function mode(suffix)
    return (shell.output { "stat", "--format=%a", path .. suffix }
      :gsub("\n", ""))
  end

  local function modes()
    local found = {}
    for i, suffix in ipairs(FILES) do found[i] = mode(suffix) end
    return table.concat(found, " ")
  end

  --- A store that something was written to.
  local function open()
    local store = assert(helper.open(path))
    assert(helper.put(store, "a", "1"))
    return store
  end

  it("are their owner's alone", function()
    open()
    assert.equal("600 600 600 600", modes())
  end)

  it("are for those whom an empty file was made for", function()
    for _, case in ipairs {
      { "640", "640 640 640 600" }, -- who may only read cannot lock
      { "644", "644 644 644 600" },
      { "660", "660 660 660 660" },
      { "666", "666 666 666 666" },
    } do
      path = tmp.dir() .. "/pawl.db"
      shell.output { "install", "-m", case[1], "/dev/null", path }
      open()
      assert.equal(case[2], modes())
    end
  end)

  it("keep a lock that readers could open no longer", function()
    open():close()
    shell.output { "chmod", "644", path, path .. "-pawl-lock" }
    open()
    assert.equal("600", mode "-pawl-lock")
  end)

  it("do not change what was linked in the place of the lock", function()
    local other = tmp.file("other", "text")
    shell.output { "chmod", "644", other }
    shell.output { "ln", other, path .. "-pawl-lock" }
    open():close()
    assert.equal("644", mode "-pawl-lock")
    shell.output { "rm", path .. "-pawl-lock" }
    shell.output { "ln", "-s", other, path .. "-pawl-lock" }
    local store, err = helper.open(path)
    assert.is_nil(store)
    assert.equal("store", err.code)
  end)

  it("cannot be locked by who may only read the store", function()
    if shell.output { "id", "-u" } ~= "0\n" then
      pending "only root can be somebody else"
      return
    end
    -- In a folder that others can enter, unlike all of the specs'.
    local dir = shell.output { "mktemp", "-d", "/tmp/pawl-mode.XXXXXX" }
      :gsub("\n", "")
    path = dir .. "/pawl.db"
    shell.output { "chmod", "755", dir }
    shell.output { "install", "-m", "644", "/dev/null", path }
    open()
    local function other(...)
      return (os.execute(shell.line { "setpriv", "--reuid=65534",
        "--regid=65534", "--clear-groups", ... } .. " 2>/dev/null"))
    end
    local reads = other("test", "-r", path)
    local locks = other("flock", "-n", "-x", path .. "-pawl-lock", "true")
    helper.cleanup()
    shell.output { "rm", "-r", dir }
    assert.truthy(reads)
    assert.falsy(locks)
  end)
end)

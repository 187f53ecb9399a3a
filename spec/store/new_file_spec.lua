--- What a new SQLite file waits for.
local powercut = require "spec.support.powercut"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local PROGRAM <const> = [[
local mark = assert(package.loadlib(arg[1], "powercut_mark"))
local engine = assert(require("pawl").open(arg[2]))
mark "open"
engine:close()]]

describe("a new SQLite file", function()
  local folder, path
  before_each(function()
    folder = tmp.dir()
    path = folder .. "/new.db"
  end)

  --- Its first page, which is in WAL mode: the journal twice, the folder, the
  --- file. Then the log begins: its header, the folder, the schema. And the
  --- file gets its mark: the log, the file, the log begun anew.
  it("is on disk ten times until it is open, and no more often", function()
    local record = powercut.record(PROGRAM, { path }, folder)
    local synced = 0
    for _, entry in ipairs(record.entries) do
      if entry.what == "m" then break end
      if entry.what == "s" or entry.what == "d" then synced = synced + 1 end
    end
    assert.is_true(synced > 0)
    assert.is_true(synced <= 10, ("%d syncs"):format(synced))
  end)

  it("gives back what pruning leaves free", function()
    powercut.record(PROGRAM, { path }, folder)
    assert.equal("2\n", shell.output { "sqlite3", path,
      "pragma auto_vacuum" })
  end)
end)

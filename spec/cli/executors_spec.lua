-- pawl executors.
local command = require "spec.support.command"
local flows = require "spec.support.flows"
local tmp = require "spec.support.tmp"

describe("pawl executors", function()
  after_each(tmp.cleanup)

  it("tells who works on the store, and who has", function()
    local here = command.folder()
    here:write("hello.lua", flows.hello)
    here:pawl "migrate"
    assert.equal("no executor is alive\n", here:pawl("executors").out)
    assert.equal("no executors\n", here:pawl("executors", "--all").out)
    assert.equal(0, here:pawl("worker", "hello.lua", "--until-idle").code)
    assert.equal("no executor is alive\n", here:pawl("executors").out)
    local ran = here:pawl("executors", "--all")
    assert.equal(0, ran.code, ran.err)
    assert.matches("^ID +STATE +HOST +PID +GROUP +STARTED +BEAT +HOLDS\n"
      .. "%x[%x-]+ +stopped +%S+ +%d+ +default +%d+s +%d+s +0\n$", ran.out)
  end)

  it("tells of a worker while it lives", function()
    local here = command.folder()
    here:write("hello.lua", flows.hello)
    local worker = here:start("worker", "hello.lua", "--processes", "1")
    local row
    for _ = 1, 100 do
      row = (here:json("executors", "--group", "default") or {})[1]
      if row then break end
      os.execute "sleep 0.1"
    end
    assert.is_true(row and row.alive)
    assert.equal(0, row.holds)
    assert.equal(0, #here:json("executors", "--group", "other"))
    worker:kill "TERM"
    worker:wait(10)
    assert.equal(0, #here:json "executors")
  end)
end)

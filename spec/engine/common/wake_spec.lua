--- Wake-ups: few are sent, and nothing is missed for it.
local kit = require "spec.engine.kit"
local system = require "system"

kit.describe("a worker with nothing to do", function(backend)
  -- Of two starts in a row only the first sends a wake-up. Who takes that one
  -- looks again a little later; also who takes it when the time for such a look
  -- has come already, as here.
  it("finds what comes right behind a wake-up", function()
    local url = backend.url()
    local worker, other = backend.open(url), backend.open(url)
    assert(worker:load(kit.one()))
    assert(other:load(kit.one()))
    worker:tick(1)
    assert(worker:wait(0.01)) -- it listens from now on

    local function start() return (assert(other:start "t.one")) end

    local function work()
      assert(worker:wait(5))
      assert(worker:tick(1))
    end

    local close, tries = 0, 0
    repeat
      tries = tries + 1
      start()
      work()
      system.sleep(0.01)
      local began = system.monotime()
      start()
      system.sleep(0.0005)
      work()
      local id = start()
      if system.monotime() - began < 0.003 then close = close + 1 end
      began = system.monotime()
      while kit.status(other, id) ~= "completed" do work() end
      local took = system.monotime() - began
      assert.is_true(took < 3, took .. " s at try " .. tries)
    until close == 5 or tries == (backend.name == "sqlite" and 10 or 200)
  end)
end)

local pawl = require "pawl"
local system = require "system"

describe("pawl.game_clock", function()
  it("passes as the system's time does, or faster, or not at all", function()
    local clock = pawl.game_clock()
    local began = clock()
    assert.is_true(began >= 0 and began < 1)
    clock:set(100, 1000)
    assert.equal(1000, clock.speed)
    system.sleep(0.005)
    local now = clock:now()
    assert.is_true(now >= 105, now)
    clock:set(clock:now(), 0)
    local stands = clock:now()
    system.sleep(0.002)
    assert.equal(stands, clock:now())
    clock:set(50)
    assert.equal(50, clock())
    assert.equal("pawl.game_clock at 50.000000 s, 0 times as fast",
      tostring(clock))
    assert.equal(7, pawl.game_clock(7, 0):now())
  end)

  it("tells how much has passed, whatever it was set to", function()
    local clock = pawl.game_clock(100, 0)
    assert.equal(0, clock:passed())
    clock:set(1e6)
    assert.equal(0, clock:passed())
    clock:set(5, 1000)
    system.sleep(0.005)
    clock:set(1e6, 0)
    local passed = clock:passed()
    assert.is_true(passed >= 5 and passed < 1e5, passed)
    system.sleep(0.002)
    assert.equal(passed, clock:passed())
  end)

  it("is made faster by its speed, from then on", function()
    local clock = pawl.game_clock(100, 0)
    system.sleep(0.005)
    clock.speed = 1000
    local passed = clock:passed()
    assert.is_true(clock:now() < 104 and passed < 4, passed)
    assert.equal(1000, clock.speed)
    clock.speed = 0
    assert.is_true(clock:passed() < 1000)
    assert.error_matches(function() clock.speed = -1 end, "to 'set'")
    assert.error_matches(function() clock.now = 5 end, "no field \"now\"")
  end)

  it("takes no time or speed that there is not", function()
    local clock = pawl.game_clock(1, 0)
    for _, bad in ipairs { -1, 0 / 0, math.huge, "1", {} } do
      assert.error_matches(function() clock:set(bad) end,
        "bad argument #1 to 'set'")
      assert.error_matches(function() clock:set(1, bad) end,
        "bad argument #2 to 'set'")
      assert.error_matches(function() pawl.game_clock(bad) end,
        "bad argument #1 to 'game_clock'")
      assert.error_matches(function() pawl.game_clock(1, bad) end,
        "bad argument #2 to 'game_clock'")
    end
    assert.equal(1, clock())
  end)
end)

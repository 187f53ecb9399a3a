local after = require "pawl.cli.pause".after

describe("the pause between attempts to reach a store", function()
  it("doubles from 0.2 s to 2 s", function()
    for failures, most in ipairs { 0.2, 0.4, 0.8, 1.6, 2, 2 } do
      assert.near(most, after(failures, 1), 1e-9)
      assert.near(most / 2, after(failures, 0), 1e-9)
    end
  end)

  it("stays there, however often it fails", function()
    for _, failures in ipairs { 100, 2000, 1 << 40 } do
      assert.near(2, after(failures, 1), 1e-9)
    end
  end)

  it("is never the same for all", function()
    local least, most, seen, n = 2, 1, {}, 0
    for _ = 1, 200 do
      local seconds = after(20)
      assert.is_true(seconds >= 1 and seconds <= 2, seconds)
      least, most = math.min(least, seconds), math.max(most, seconds)
      if not seen[seconds] then n, seen[seconds] = n + 1, true end
    end
    assert.is_true(n > 150)
    assert.is_true(least < 1.2 and most > 1.8, least .. " to " .. most)
  end)
end)

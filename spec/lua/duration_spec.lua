local duration = require "pawl.duration"

local SECOND <const> = 1000000

describe("a duration", function()
  it("is seconds when it is a number", function()
    assert.equal(90 * SECOND, duration.parse(90))
    assert.equal(1500000, duration.parse(1.5))
    assert.equal(0, duration.parse(0))
    assert.equal(1, duration.parse(0.0000014))
    assert.equal("integer", math.type(duration.parse(1.5)))
  end)

  it("is a sum of numbers with units when it is text", function()
    for text, seconds in pairs {
      ["500ms"] = 0.5, ["90s"] = 90, ["15m"] = 900, ["2h"] = 7200,
      ["2d"] = 172800, ["1w"] = 604800, ["1h30m"] = 5400, ["1d12h"] = 129600,
      ["1h 30m"] = 5400, [" 1 h "] = 3600, ["1.5h"] = 5400, ["0s"] = 0,
      ["30m1h"] = 5400, ["90"] = 90, ["0.25"] = 0.25,
      ["000000000000000000000000001s"] = 1,
    } do
      assert.equal(math.tointeger(seconds * SECOND), duration.parse(text),
        text)
    end
  end)

  it("keeps whole numbers exact", function()
    assert.equal(315360000000 * SECOND // 10, duration.parse("31536000000s"))
    assert.equal(31557599999 * SECOND, duration.parse("31557599999s"))
    assert.equal(31557599999 * SECOND, duration.parse(31557599999))
  end)

  it("says what is wrong with anything else", function()
    for _, case in ipairs {
      { "", "'' is empty" },
      { "  ", "'  ' is empty" },
      { "soon", "'soon' is not a duration" },
      { "1h soon", "'1h soon' is not a duration" },
      { "h1", "'h1' is not a duration" },
      { "1.h", "'1.h' is not a duration" },
      { "-1h", "'-1h' is not a duration" },
      { "1h30", "'1h30' has no unit after 30" },
      { "5 min", "'5 min' has an unknown unit 'min' (ms, s, m, h, d, w)" },
      { "1H", "'1H' has an unknown unit 'H' (ms, s, m, h, d, w)" },
      { "1h1h", "'1h1h' names 'h' twice" },
      { "1001w99999999999d",
        "'1001w99999999999d' is longer than 1000 years" },
      { ("9"):rep(400) .. "s",
        "'" .. ("9"):rep(400) .. "s' is longer than 1000 years" },
      { ("9"):rep(400), "'" .. ("9"):rep(400) ..
        "' is longer than 1000 years" },
      { -1, "-1 is negative" },
      { math.huge, "inf is longer than 1000 years" },
      { math.maxinteger, math.maxinteger .. " is longer than 1000 years" },
      { true, "a duration cannot be a boolean" },
      { {}, "a duration cannot be a table" },
      { require("pawl").null, "a duration cannot be null" },
    } do
      local us, problem, hint = duration.parse(case[1])
      assert.is_nil(us)
      assert.equal(case[2], problem)
      assert.matches("write seconds", hint)
    end
    local us, problem = duration.parse(0 / 0)
    assert.is_nil(us)
    assert.matches("nan is not a duration", problem)
    assert.is_nil((duration.parse(nil)))
  end)

  it("adds up as a naive sum does", function()
    local units = { ms = 0.001, s = 1, m = 60, h = 3600, d = 86400 }
    for _ = 1, 500 do
      local text, sum = "", 0
      for unit, seconds in pairs(units) do
        if math.random() < 0.5 then
          local n = math.random(0, 999)
          text, sum = text .. n .. unit, sum + n * seconds
        end
      end
      if text ~= "" then
        assert.equal(math.floor(sum * SECOND + 0.5), duration.parse(text),
          text)
      end
    end
  end)
end)

describe("duration.show", function()
  it("gives people at most two units", function()
    for seconds, text in pairs {
      [0] = "0 ms", [0.0123] = "12 ms", [1] = "1 s", [1.52] = "1.5 s",
      [59.9] = "59.9 s", [125] = "2 min 5 s", [120] = "2 min",
      [12000] = "3 h 20 min", [187200] = "2 d 4 h",
    } do
      assert.equal(text, duration.show(seconds))
    end
  end)
end)

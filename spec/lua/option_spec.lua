-- lua/pawl/option.lua: what people write into tables of options.
local core = require "pawl.core"
local option = require "pawl.option"

local read_child = option.child_reader(core.options().start)

local function why(given)
  local out, message = read_child(given)
  assert.is_nil(out)
  return message
end

describe("options", function()
  it("are none when none are given", function()
    assert.same({}, option.read("f", { x = { "string" } }, nil))
  end)

  it("are kept under their stored names", function()
    local shape = { wait = { "duration", "wait_us" }, n = { "count" },
                    how = option.choice("how", "fast", "slow") }
    local given = { wait = "1m", n = 2.0, how = "slow" }
    assert.same({ wait_us = 60000000, n = 2, how = "slow" },
      option.read("f", shape, given))
    assert.same({ wait = "1m", n = 2.0, how = "slow" }, given)
  end)

  it("that are false are given", function()
    assert.same({ x = false },
      option.read("f", { x = { "boolean" } }, { x = false }))
  end)

  it("tell what is wrong without raising", function()
    local shape = { wait = { "duration" }, big = { "shards" },
                    how = option.choice("how", "fast", "slow") }
    local function wrong(given)
      local out, message = option.read("f", shape, given)
      assert.is_nil(out)
      return message
    end
    assert.equal("f: options must be a table, got number", wrong(3))
    assert.equal("f: unknown option 'wiat' (did you mean 'wait'?)",
      wrong { wiat = 1 })
    assert.equal("f: unknown option '1' (known: big, how, wait)",
      wrong { "wait" })
    assert.equal([[f: option 'wait' must be seconds or words like "30s", ]]
      .. [[got "soon"]], wrong { wait = "soon" })
    assert.equal("f: option 'big' must be an integer from 1 to 32767, "
      .. "got 32768", wrong { big = 32768 })
    assert.equal([[f: option 'how' must be "fast" or "slow", got table]],
      wrong { how = {} })
  end)
end)

describe("the options of ctx.start", function()
  it("say what is meant by those left out", function()
    assert.same({ track = true, parent_end = "leave" }, read_child())
    assert.same({ track = false, parent_end = "leave" },
      read_child { track = false, parent_end = "leave" })
  end)

  it("come as the engine takes them", function()
    assert.same({ key = "k", version = 2, priority = -1, delay_us = 7200000000,
                  tenant = "t", group = "g", correlation = "c",
                  business_key = "b", metadata = { m = 1 },
                  attributes = { a = 1 }, track = true,
                  parent_end = "leave" },
      read_child { key = "k", version = 2, priority = -1, delay = "2h",
                   tenant = "t", group = "g", correlation = "c",
                   business_key = "b", metadata = { m = 1 },
                   attributes = { a = 1 } })
  end)

  it("are within what the store takes", function()
    assert.is_table(read_child { key = ("x"):rep(255) })
    assert.matches("'key' must be a string of 1 to 255 bytes",
      why { key = ("x"):rep(256) })
    assert.matches("none of them zero", why { tenant = "a\0b" })
    assert.matches("'group' must be", why { group = "" })
    assert.is_table(read_child { priority = -32768 })
    assert.matches("from %-32768 to 32767", why { priority = -32769 })
    assert.matches("above 0", why { version = 0x80000000 })
    assert.is_table(read_child { delay = "36500d" })
    assert.matches("at most 100 years", why { delay = "36501d" })
  end)

  it("have neither an id nor a time: both are the engine's", function()
    assert.matches("unknown option 'id'", why { id = "x" })
    assert.matches("unknown option 'at'", why { at = 1 })
  end)
end)

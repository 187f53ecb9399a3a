local pawl = require "pawl"
local tmp = require "spec.support.tmp"

describe("the versions in play", function()
  it("are tested under Lua 5.4", function()
    assert.equal("Lua 5.4", _VERSION)
  end)

  it("are one: pawl.h's, which the module answers with", function()
    local header = tmp.read("src/pawl.h")
    local text = header:match '#define PAWL_VERSION "([%d.]+)"'
    assert.equal(text, pawl.version())
    assert.equal("pawl " .. text, pawl._VERSION)
  end)

  it("have a number that agrees with the text", function()
    local header = tmp.read("src/pawl.h")
    local major, minor, patch =
      header:match '#define PAWL_VERSION "(%d+)%.(%d+)%.(%d+)"'
    local number = header:match "#define PAWL_VERSION_NUMBER (%d+)"
    assert.equal(major * 1000000 + minor * 1000 + patch, tonumber(number))
  end)
end)

-- engine:fd(): a descriptor for a poll of the program's own.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local ok, socket = pcall(require, "socket")

kit.describe("a descriptor", function(backend)
  it("is there where the store has one", function()
    local engine = backend.fresh()
    local fd = assert(engine:fd())
    if backend.name ~= "postgres" then
      assert.equal(-1, fd)
    else
      assert.is_true(fd >= 0)
      assert.equal(fd, engine:fd())
    end
    assert.is_true(engine:wait(0))
  end)

  it("is refused within a transaction", function()
    local engine = backend.fresh()
    assert.error_matches(function()
      engine:transaction(function() engine:fd() end)
    end, "pawl_fd cannot be a part of the transaction")
  end)

  if backend.name == "postgres" and ok then
    it("can be read when another engine has started something", function()
      local _, _, url = backend.fresh()
      local waits <close> = assert(pawl.open(url))
      local starts <close> = assert(pawl.open(url))
      assert(waits:load(kit.one()))
      assert(starts:load(kit.one()))
      assert(waits:tick())
      local fd = { getfd = function() return waits:fd() end }
      assert(waits:wait(0))
      assert(waits:wait(0))
      assert.equal(0, #socket.select({ fd }, nil, 0))
      assert(starts:start "t.one")
      assert.equal(1, #socket.select({ fd }, nil, 5))
      assert(waits:wait(0))
      assert.equal(0, assert(waits:next_due()))
      assert.equal(1, assert(waits:tick()).steps)
    end)
  end
end)

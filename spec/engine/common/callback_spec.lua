-- Tokens of ctx.callback, as texts: who can make one, and what is none.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local ID <const> = "01940000-0000-7000-8000-00000000beef"

local function waiting(given)
  local flow = pawl.workflow { code = "t.token" }
  flow:step("a", { run = function(ctx) given[1] = ctx.callback "paid" end })
  flow:wait("w", { event = "paid" })
  flow:finish "z"
  return flow
end

kit.describe("a token", function(backend)
  local engine, clock, url, token

  local function set_secret(value)
    backend.sql(url, ("update %s set value = '%s'"):format(
      kit.table(backend, "secret"), value))
  end

  local function begun(secret)
    local given = {}
    engine, clock, url = backend.fresh()
    if secret then set_secret(secret) end
    assert(engine:load(waiting(given)))
    assert(engine:start("t.token", {}, { id = ID }))
    assert(engine:run())
    token = given[1]
  end

  it("is HMAC-SHA256 of instance, visit and event, under the secret",
    function()
      begun "0123456789abcdef0123456789abcdef0123456789"
      assert.equal("AZQAAAAAcACAAAAAAAC-7wAAAAAAAAABuiTJtHVy8KsJSHtJPWOQYA"
        .. ".paid", token)
      assert.is_true(engine:complete(token))
    end)

  it("is none, where a single bit of it is another", function()
    begun()
    local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
      .. "0123456789-_"
    for i = 1, 54 do
      local at = digits:find(token:sub(i, i), 1, true) - 1
      for bit = 0, 5 do
        local other = (at ~ (1 << bit)) + 1
        local _, err = engine:complete(token:sub(1, i - 1)
          .. digits:sub(other, other) .. token:sub(i + 1))
        assert.equal("notfound", err.code)
      end
    end
    for _, name in ipairs { "", "paie", "paid.x", "Paid" } do
      local _, err = engine:complete(token:sub(1, 55) .. name)
      assert.equal("notfound", err.code)
    end
    assert.is_true(engine:complete(token))
  end)

  it("is another store's where the secret is, and a fault where none is",
    function()
      begun()
      local rows = kit.select(url, "select value from "
        .. kit.table(backend, "secret"))
      assert.equal(1, #rows)
      assert(#rows[1].value >= 64)
      set_secret(("x"):rep(40))
      local other = kit.rival(backend, url, clock)
      assert.equal("notfound", select(2, other:complete(token)).code)
      assert.is_true(engine:complete(token)) -- it has read it before
      other:close()
      set_secret ""
      other = kit.rival(backend, url, clock)
      local _, err = other:complete(token)
      assert.equal("corrupt", err.code)
      assert.equal("the store has no secret for callbacks", err.message)
      other:close()
    end)
end)

describe("a token", function()
  it("is good in a copy of its store, and in no other", function()
    local given, path = {}, tmp.path "copy.db"
    local engine = assert(pawl.open(":memory:"))
    local other = assert(pawl.open(":memory:"))
    assert(engine:load(waiting(given)))
    assert(engine:start "t.token")
    assert(engine:run())
    assert(engine:backup(path))
    local copy = assert(pawl.open(path))
    assert.is_true(copy:complete(given[1]))
    assert.is_true(engine:complete(given[1]))
    assert.equal("notfound", select(2, other:complete(given[1])).code)
    copy:close()
    engine:close()
    other:close()
  end)
end)

-- A handler that waits: it keeps its place, and is ended where it stands.
local kit = require "spec.engine.kit"

kit.describe("a handler that waits", function(backend)
  local function waiting(state)
    return kit.one(function(ctx)
      state.began = (state.began or 0) + 1
      local _ <close> = setmetatable({}, { __close = function()
        state.closed = (state.closed or 0) + 1
      end })
      ctx.await(function() return state.ready end)
      state.ended = true
    end)
  end

  it("goes on where it stood", function()
    local engine, clock = backend.fresh()
    local state = {}
    assert(engine:load(waiting(state)))
    local id = assert(engine:start "t.one")
    assert.equal(1, assert(engine:tick()).waiting)
    state.ready = true
    clock:advance(1)
    assert(engine:run())
    assert.same({ began = 1, closed = 1, ended = true, ready = true }, state)
    assert.completed(engine, id)
  end)

  it("is ended with its engine, and its instance is free", function()
    local engine, clock, url = backend.fresh()
    local other = kit.rival(backend, url, clock)
    local state = {}
    assert(engine:load(waiting(state)))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    engine:close()
    assert.same({ began = 1, closed = 1 }, state)
    assert(other:load(kit.one()))
    assert(other:run())
    assert.completed(other, id)
  end)

  it("is ended when the instance is another's", function()
    local engine, clock, url = backend.fresh()
    local other = kit.rival(backend, url, clock)
    local state = {}
    assert(engine:load(waiting(state)))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    assert(other:kill(id))
    clock:advance(1)
    local stats = assert(engine:tick())
    assert.equal(0, stats.waiting)
    assert.same({ began = 1, closed = 1 }, state)
    assert.equal("cancelled", kit.status(engine, id))
  end)
end)

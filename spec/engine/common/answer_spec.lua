-- What is answered: JSON text made of rows, whole or not at all.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("an answer", function(backend)
  local function started(...)
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start("t.timer", ...))
    assert(engine:run())
    return engine, id, url
  end

  it("has the same in a table and as text, but for nulls", function()
    local engine, id = started({ text = 'q"\n\u{1F600}', n = 1 << 53 },
      { priority = 3 })
    local got = assert(engine:get(id))
    local text = assert(engine:get(id, "json"))
    local data = pawl.json.decode(text)
    assert.equal('q"\n\u{1F600}', data.input.text)
    assert.equal(1 << 53, data.input.n)
    assert.equal(3, data.priority)
    assert.equal(pawl.null, data.tenant)
    assert.is_nil(got.tenant)
    assert.equal(pawl.null, data.lease)
    assert.same(got.times.created, data.times.created)
  end)

  it("is refused whole, with the id, when what is stored is no JSON",
    function()
      if backend.name == "postgres" then return end -- a column of type json
      local engine, id, url = started {}
      backend.sql(url, ("update %s set input = '{\"a\":'"):format(
        kit.table(backend, "instance")))
      local got, err = engine:get(id)
      assert.is_nil(got)
      assert.equal("corrupt", err.code)
      got, err = engine:get(id, "json")
      assert.is_nil(got)
      assert.matches(id, err.message .. (err.hint or ""), 1, true)
    end)
end)

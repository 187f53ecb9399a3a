-- Parameters and rows of a user's own SQL, whatever transaction it is in.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

kit.describe("a user's own SQL", function(backend)
  local sqlite = backend.name == "sqlite"

  local function ask(engine, sql, ...)
    local params = table.pack(...)
    local rows, why
    engine:transaction(function(tx)
      rows, why = tx:query(sql, table.unpack(params, 1, params.n))
    end)
    return rows, why
  end

  it("takes values, and gives them back", function()
    local engine = backend.fresh()
    local sql = sqlite and "select ? as a, ? as b, ? as c, ? as d, ? as e"
      or "select $1::bigint as a, $2::float8 as b, $3::text as c, "
        .. "$4::boolean as d, $5::text as e"
    local row = assert(ask(engine, sql, 17, 0.5, "x'\n\"", true, nil))[1]
    assert.same({ 17, 0.5, "x'\n\"", pawl.null },
      { row.a, row.b, row.c, row.e })
    assert.truthy(row.d == true or row.d == 1)
  end)

  it("has at most 100 of them, and text that is text", function()
    local engine = backend.fresh()
    local many = {}
    for i = 1, 101 do many[i] = i end
    kit.refused("limit", "at most 100", nil,
      ask(engine, "select 1", table.unpack(many)))
    if not sqlite then return end -- there text is never anything else
    kit.refused("value", "not UTF%-8", nil,
      ask(engine, "select cast(x'ff' as text) as a"))
  end)

  it("says what the store has against it", function()
    local engine = backend.fresh()
    kit.refused("store", "nowhere", nil, ask(engine, "select * from nowhere"))
    local ok, err = pcall(ask, engine, "commit")
    assert.same({ false, "misuse" }, { ok, err.code })
    assert.matches("cannot begin, end or divide", err.message)
  end)
end)

-- The one form of lists, counts and bulk acts: what it takes, and refuses.
local kit = require "spec.engine.kit"

kit.describe("a filter", function(backend)
  it("refuses what it does not know", function()
    local engine = backend.fresh()
    assert.error_matches(function() engine:list { nod = "a" } end, "node")
    kit.refused("invalid", "newest", "newest", engine:list { sort = "newes" })
    assert.error_matches(function() engine:list { created_after = "soon" } end,
      "created_after")
    for _, name in ipairs { "group", "node", "error", "business_key" } do
      kit.refused("invalid", name, nil, engine:list { [name] = "" })
    end
    kit.refused("notfound", "", nil, engine:list { after = "ffffffff" })
  end)

  it("is the same for lists, counts and bulk acts", function()
    local engine = backend.fresh()
    for _, verb in ipairs { "list", "tally", "bulk" } do
      local function ask(query)
        if verb == "bulk" then
          return engine:bulk("cancel", query)
        end
        return engine[verb](engine, query)
      end
      kit.refused("invalid", "exclude each other", "ask for the one",
        ask { deleted = true, archived = true, workflow = "t.one" })
      kit.refused("invalid", "status", nil, ask { status = "runing" })
      kit.refused("invalid", "amount", nil,
        ask { attributes = { amount = { "?", 1 } } })
      kit.refused("notfound", "", nil, ask { parent = "ffffffff" })
      assert(ask { workflow = "t.one" })
    end
  end)

  it("may be sorted and grouped where not all are meant", function()
    local engine = backend.fresh()
    kit.refused("invalid", "`sort` can only be", "the order is a list's",
      engine:tally { sort = "updated" })
    kit.refused("invalid", "`group_by` is for counts", "tally",
      engine:list { group_by = "node" })
    kit.refused("invalid", "is no place among those", "cursor",
      engine:list { sort = "updated", after = "here" })
  end)
end)

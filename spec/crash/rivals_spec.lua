--- Eight processes that find the same empty store at the same moment.
local Site = require "spec.support.site"

Site.each("an empty store met by eight processes", function(new)
  --- Starts eight of the command, which wait for each other.
  local function eight(site, words)
    local children = {}
    words[#words + 1] = { under = { "bash", "-c",
      'until [ -e go ]; do :; done; exec "$@"', "bash" } }
    for i = 1, 8 do
      children[i] = site.folder:start(table.unpack(words))
    end
    site.folder:write("go", "")
    for _, child in ipairs(children) do
      assert.equal(0, child:wait(30), child:output() .. child:errors())
    end
    return children
  end

  it("is given one schema by `pawl migrate`", function()
    local site = new(Site.steps())
    local words = { "migrate", "--shards", "3", "--store", site.url }
    local made = 0
    for _, child in ipairs(eight(site, words)) do
      if child:output():find "schema 0 %->" then made = made + 1 end
      assert.matches("3 shards", child:output())
    end
    assert.truthy(made >= 1)
    assert.equal(1, site:number "select count(*) from pawl.migration")
    local ids = site:start(9)
    site:drain()
    site:assert_complete(ids)
  end)

  it("is given one schema by workers", function()
    local site = new(Site.steps())
    eight(site, { "worker", "flow.lua", "--until-idle", "--store", site.url })
    assert.equal(1, site:number "select count(*) from pawl.migration")
    assert.equal(1, site:number "select count(*) from pawl.workflow")
    local ids = site:start(3)
    site:drain()
    site:assert_complete(ids)
  end)
end)

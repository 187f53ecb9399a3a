--- kill -9 of `pawl purge` at each of its batches: what is half gone is hidden,
--- and goes when it is asked for once more, or with the next prune.
local pawl = require "pawl"
local Site = require "spec.support.site"

Site.each("a purge that is killed", function(new)
  local POINTS <const> = { "engine.purge.batch", "engine.purge.last" }

  local function purge(site, id, fault)
    return site.folder:start("purge", id, "--force", "--by", "ann", "--store",
      site.url, { env = { PAWL_FAULT = fault or "" } })
  end

  --- Rows of any table that are left of instances.
  local function left(site)
    local n = 0
    for _, name in ipairs { "instance", "history", "outbox", "attribute",
      "inbox", "agenda", "token", "variable" } do
      n = n + site:number("select count(*) from pawl." .. name)
    end
    return n
  end

  for _, point in ipairs(POINTS) do
    it("goes on from " .. point, function()
      local site = new(Site.flow {
        { "a", 'ctx.emit("told", {}) ctx.attrs.colour = "red"' }, { "b" } })
      local deaths = 0
      for passage = 1, 30 do
        local id = site:start(1)[1]
        site:drain()
        local first = purge(site, id, ("%s=kill@%d"):format(point, passage))
        local code = first:wait(20)
        if code == 0 then break end
        assert.equal(137, code, first:output() .. first:errors())
        deaths = deaths + 1
        local engine <close> = assert(pawl.open(site.url))
        assert.same({}, assert(engine:list()))
        local shown = assert(engine:get(id))
        assert.equal("ann", shown.deleted.by)
        assert.truthy(shown.deleted.purge_at)
        local ok, err = engine:undelete(id)
        assert.same({ nil, "conflict" }, { ok, err.code })
        local second = passage % 2 == 0 and purge(site, id)
          or site.folder:start("prune", "--store", site.url, { env = {} })
        assert.equal(0, second:wait(20), second:output() .. second:errors())
        assert.equal(0, left(site))
        local third = purge(site, id)
        assert.equal(3, third:wait(20), third:output() .. third:errors())
      end
      assert.truthy(point:find "last" and deaths == 1 or deaths > 7, deaths)
      assert.equal(0, left(site))
    end)
  end

  --- Of many that go together, a unit is there, or it is gone.
  it("of many has done nothing half, and goes on", function()
    local site = new(Site.flow { { "a", 'ctx.attrs.colour = "red"' } })
    local deaths = 0
    local function many(fault)
      return site.folder:start("purge", "--status", "completed", "--yes",
        "--by", "ann", "--store", site.url,
        { env = { PAWL_FAULT = fault or "" } })
    end
    for _, fault in ipairs { "engine.purge.some=kill@2",
      "commit.before=kill@2", "commit.after=kill@3", "commit.sent=kill@7" } do
      site:start(60)
      site:drain()
      local first = many(fault)
      local code = first:wait(30)
      assert.truthy(code == 137 or code == 0, first:errors())
      deaths = deaths + (code == 137 and 1 or 0)
      local instances = site:number "select count(*) from pawl.instance"
      for _, name in ipairs { "history where type = 'step'", "attribute" } do
        assert.equal(instances, site:number("select count(*) from pawl."
          .. name))
      end
      local second = many()
      assert.equal(0, second:wait(30), second:output() .. second:errors())
      assert.equal(0, left(site))
    end
    assert.equal(4 * 60, site:number("select count(*) from pawl.audit "
      .. "where type = 'purged'"))
    assert.is_true(deaths >= 2, deaths)
  end)
end)

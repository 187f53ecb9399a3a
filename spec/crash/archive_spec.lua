--- kill -9 of `pawl archive` and `pawl unarchive` at each of their moments: it
--- is whole, in one place or the other, and asked again it is done.
local pawl = require "pawl"
local Site = require "spec.support.site"

-- More rows than one transaction takes away.
local LONG <const> = [[insert into pawl.history (shard, instance, seq, type,
  completed_at) with recursive n (i) as (
    select 1 union all select i + 1 from n where i < 1500)
  select t.shard, t.id, 1000 + n.i, 'note', t.created_at
    from pawl.instance t, n]]

Site.each("an archive that is killed", function(new)
  local function act(site, verb, id, fault)
    return site.folder:start(verb, id, "--by", "ann", "--store", site.url,
      { env = { PAWL_FAULT = fault or "" } })
  end

  local function rows(site, name)
    return site:number("select count(*) from pawl." .. name)
  end

  --- All that is told of it, wherever it is.
  local function told(site, id)
    local engine <close> = assert(pawl.open(site.url))
    local got = assert(engine:get(id))
    local where = got.archived and "archived" or "hot"
    local listed = #assert(engine:list { archived = true })
    assert.equal(where == "archived" and 1 or 0, listed)
    assert.equal(1 - listed, #assert(engine:list()))
    return { got.output, got.attributes, assert(engine:history(id)) }, where
  end

  local function done(process, code)
    assert.equal(code, process:wait(20), process:output() .. process:errors())
  end

  local function site_of(long)
    local site = new(Site.flow {
      { "a", 'ctx.attrs.colour = "red"' }, { "b" } })
    local id = site:start(1)[1]
    site:drain()
    if long then site:sql(LONG) end
    return site, id
  end

  for _, point in ipairs { "rows", "commit" } do
    it("has happened, or not, at " .. point, function()
      local site, id = site_of()
      local before = told(site, id)
      done(act(site, "archive", id, "engine.archive." .. point .. "=kill"),
        137)
      local after, where = told(site, id)
      assert.same({ "hot", before }, { where, after })
      assert.equal(0, rows(site, "agenda"))
      done(act(site, "archive", id), 0)
      after, where = told(site, id)
      assert.same({ "archived", before }, { where, after })
      assert.equal(0, rows(site, "history"))
    end)
  end

  for _, point in ipairs { "engine.purge.batch=kill@1",
    "engine.purge.batch=kill@2", "engine.purge.batch=kill@4",
    "engine.archive.last=kill" } do
    it("of many rows goes on from " .. point, function()
      local site, id = site_of(true)
      local before = told(site, id)
      for _, verb in ipairs { "archive", "unarchive" } do
        done(act(site, "archive", id, point), 137)
        local after, where = told(site, id)
        assert.same({ "archived", before }, { where, after })
        assert.equal(1, site:number(
          "select count(*) from pawl.archive where rest"))
        done(act(site, verb, id), 0)
        after, where = told(site, id)
        assert.same(before, after)
        assert.equal(verb == "archive" and "archived" or "hot", where)
        if where == "archived" then
          assert.equal(0, rows(site, "history"))
          done(act(site, "unarchive", id), 0)
        end
      end
    end)
  end

  for _, point in ipairs { "engine.import.batch", "engine.unarchive.last",
    "engine.import.last" } do
    it("comes back, or not, at " .. point, function()
      local site, id = site_of()
      local before = told(site, id)
      done(act(site, "archive", id), 0)
      done(act(site, "unarchive", id, point .. "=kill"), 137)
      local after, where = told(site, id)
      assert.same({ "archived", before }, { where, after })
      done(act(site, "unarchive", id), 0)
      after, where = told(site, id)
      assert.same({ "hot", before }, { where, after })
      assert.equal(0, rows(site, "archive"))
    end)
  end
end)

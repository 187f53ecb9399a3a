--- kill -9 of `pawl prune` at each of its steps and units: nothing is half
--- there that is shown as whole, and the next one goes on.
local Site = require "spec.support.site"

Site.each("a prune that is killed", function(new)
  local POINTS <const> = { "engine.prune.step", "engine.purge.many",
    "engine.purge.batch", "engine.purge.last" }

  local function prune(site, fault)
    return site.folder:start("prune", "--retain", "0s", "--store", site.url,
      { env = { PAWL_FAULT = fault or "" } })
  end

  local function count(site, name)
    return site:number("select count(*) from pawl." .. name)
  end

  local function left(site)
    local n = 0
    for _, name in ipairs { "instance", "history", "outbox", "attribute",
      "inbox", "agenda", "token", "variable" } do
      n = n + count(site, name)
    end
    return n
  end

  --- No row of an instance that is not there, none missing of one that is
  --- shown.
  local function check(site)
    for _, name in ipairs { "history", "attribute", "agenda" } do
      assert.equal(0, site:number(("select count(*) from pawl.%s t where not "
        .. "exists (select 1 from pawl.instance i where i.shard = t.shard "
        .. "and i.id = t.instance)"):format(name)), name)
    end
    assert.equal(0, site:number [[select count(*) from pawl.instance i
      where purge_at is null and not exists (
        select 1 from pawl.history h
         where h.shard = i.shard and h.instance = i.id and h.seq = 1)]])
  end

  --- One of them with more rows than a unit takes.
  local function lengthen(site)
    local id = "(select min(id) from pawl.instance)"
    if site.backend.name == "postgres" then
      id = "(select id from pawl.instance order by id limit 1)"
    end
    site:sql(([[insert into pawl.history (shard, instance, seq, type,
      completed_at) with recursive n (i) as (
        select 1 union all select i + 1 from n where i < 1500)
      select 0, %s, 1000 + i, 'note', %s from n]]):format(id,
      site.backend.name == "postgres" and "now()" or "1"))
    site:sql(("update pawl.instance set seq = 2500 where id = %s"):format(id))
  end

  for _, point in ipairs(POINTS) do
    it("goes on from " .. point, function()
      local site = new(Site.flow { { "a", 'ctx.attrs.colour = "red"' },
        { "b" } })
      local deaths = 0
      for passage = 1, 8 do
        if passage == 1 or count(site, "instance") == 0 then
          site:start(5)
          site:drain()
          lengthen(site)
        end
        local first = prune(site, ("%s=kill@%d"):format(point, passage))
        if first:wait(20) == 0 then break end
        deaths = deaths + 1
        check(site)
      end
      assert.is_true(deaths > 0)
      local second = prune(site)
      assert.equal(0, second:wait(20), second:output() .. second:errors())
      assert.equal(0, left(site))
    end)
  end
end)

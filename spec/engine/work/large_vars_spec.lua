-- Variables too large to be written whole at every step: rows of their own,
-- one object for whoever reads.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

local SEED = tonumber(os.getenv "PAWL_SEED") or os.time()

--- A step that goes on to itself: what `acts` holds is done one a run, and
--- between two of them the instance is let go, so that it is loaded anew.
local function stepwise(acts)
  local flow = pawl.workflow { code = "t.stepwise", start = "a" }
  flow:step("a", { next = "t", run = function(ctx)
    acts[(ctx.vars.n or 0) + 1](ctx.vars)
    ctx.vars.n = (ctx.vars.n or 0) + 1
  end })
  flow:timer("t", { after = "1m", next = "more" })
  flow:choice("more", { next = { yes = "a", no = "z" },
    choose = function(ctx) return ctx.vars.n < #acts and "yes" or "no" end })
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

local function start(backend, acts)
  local engine, clock, url = backend.fresh()
  assert(engine:load(stepwise(acts)))
  local id = assert(engine:start "t.stepwise")
  assert(engine:run())
  return engine, id, clock, url
end

local function go_on(engine, clock)
  clock:advance "1m"
  assert(engine:run())
end

local function vars(engine, id) return assert(engine:get(id)).variables end

local function rows(backend, url)
  return kit.count(backend, url, "variable")
end

--- Counts the rows that are written, whatever the store.
local WATCH = {
  sqlite = [[
    create table written (part text);
    create trigger put after insert on pawl_variable
      begin insert into written values (new.part); end;
    create trigger changed after update on pawl_variable
      begin insert into written values (new.part); end;
    create trigger gone after delete on pawl_variable
      begin insert into written values (old.part); end;]],
  postgres = [[
    create table public.written (part text);
    create function watch() returns trigger language plpgsql as $$
      begin insert into public.written values (coalesce(new.part, old.part));
      return null; end $$;
    create trigger watch after insert or update or delete on pawl.variable
      for each row execute function watch();]],
}

local function written(backend, url)
  local parts = {}
  for i, row in ipairs(backend.sql(url,
    "select part from written order by part")) do
    parts[i] = row.part
  end
  backend.sql(url, "delete from written")
  return table.concat(parts, " ")
end

kit.describe("variables that are large", function(backend)
  local LARGE = ("x"):rep(100 * 1000)

  it("are one object for handlers, for get and at the end", function()
    local seen
    local engine, id, clock, url = start(backend, {
      function(v) v.small, v.large, v["a \"b\"\n"] = 1, LARGE, LARGE end,
      function(v) seen = { v.small, v.large, v["a \"b\"\n"] } end,
    })
    local whole = { small = 1, large = LARGE, ["a \"b\"\n"] = LARGE, n = 1 }
    assert.same(whole, vars(engine, id))
    assert.equal(3, rows(backend, url))
    go_on(engine, clock)
    assert.same({ 1, LARGE, LARGE }, seen)
    go_on(engine, clock)
    whole.n = 2
    assert.completed(engine, id)
    assert.same(whole, vars(engine, id))
    assert.same(whole, assert(engine:get(id)).output)
  end)

  it("are one object for who reads the view", function()
    local _, _, _, url = start(backend, {
      function(v) v.large = LARGE end,
      function() end,
    })
    local pg = backend.name == "postgres"
    local found = backend.sql(url, pg
      and "select variables ->> 'n' as n, length(variables ->> 'large') as l "
        .. "from pawl.instance_view"
      or "select variables ->> '$.n' as n, length(variables ->> '$.large') "
        .. "as l from pawl_instance_view")
    assert.same({ { n = "1", l = "100000" } }, found)
  end)

  it("are written only where they change", function()
    local engine, _, clock, url = start(backend, {
      function(v)
        v.large, v.other = LARGE, LARGE
        for i = 1, 100 do v["k" .. i] = ("y"):rep(500) end
      end,
      function(v) v.k7 = "changed" end,
      function(v) v.large = v.large .. "!" end,
      function(v) v.other = nil end,
      function() end,
    })
    backend.sql(url, WATCH[backend.name])
    local counter -- the row that `n`, which each step changes, shares
    go_on(engine, clock)
    local both = written(backend, url)
    assert.matches("^:%d+ :%d+$", both)
    go_on(engine, clock)
    counter = written(backend, url):match "^(:%d+) =large$"
    assert.is_truthy(counter)
    assert.is_truthy(both:find(counter, 1, true))
    go_on(engine, clock)
    assert.equal(counter .. " =other", written(backend, url))
    go_on(engine, clock)
    assert.equal(counter, written(backend, url))
  end)

  it("go back into the instance's row when they have become small",
    function()
      local engine, id, clock, url = start(backend, {
        function(v) v.large, v.kept = LARGE, "k" end,
        function(v) v.large = nil end,
        function(v) v.large = "l" end,
      })
      assert.is_true(rows(backend, url) > 0)
      go_on(engine, clock)
      assert.equal(0, rows(backend, url))
      assert.same({ kept = "k", n = 2 }, vars(engine, id))
      go_on(engine, clock)
      assert.equal(0, rows(backend, url))
      assert.same({ kept = "k", large = "l", n = 3 }, vars(engine, id))
    end)

  it("take names of any length", function()
    local long = ("n"):rep(10000)
    local engine, id, clock, url = start(backend, {
      function(v) v[long], v.a = LARGE, ("y"):rep(3000) end,
      function(v) v[long] = nil end,
    })
    assert.same({ [long] = LARGE, a = ("y"):rep(3000), n = 1 },
      vars(engine, id))
    go_on(engine, clock)
    assert.same({ a = ("y"):rep(3000), n = 2 }, vars(engine, id))
    assert.equal(2, rows(backend, url))
  end)

  it("are edited, and restarted from as they were", function()
    local engine, id, clock = start(backend, {
      function(v) v.large, v.k = LARGE, 1 end,
      function(v) v.large, v.k = LARGE .. LARGE, 2 end,
      function() end,
    })
    go_on(engine, clock)
    assert(engine:edit(id, { set = { k = 3, other = LARGE },
      unset = { "large" } }))
    assert.same({ other = LARGE, k = 3, n = 2 }, vars(engine, id))
    go_on(engine, clock)
    go_on(engine, clock)
    assert.completed(engine, id)
    local history = assert(engine:history(id))
    local second
    for _, entry in ipairs(history) do
      if entry.node == "a" and entry.changes
        and #(entry.changes.set.large or "") == 2 * #LARGE then
        second = entry.seq
      end
    end
    assert(engine:restart(id, { from = "a", seq = second }))
    assert.same({ large = LARGE, k = 1, n = 1 }, (function()
      local found = vars(engine, id)
      return { large = found.large, k = found.k, n = found.n }
    end)())
  end)

  it("are left alone by who has lost the lease", function()
    local a, b, clock
    local runs = 0
    local flow = pawl.workflow { code = "t.lost", start = "a" }
    flow:step("a", { next = "b", run = function(ctx)
      ctx.vars.large, ctx.vars.by = LARGE, "a"
    end })
    flow:step("b", { next = "z", run = function(ctx)
      runs = runs + 1
      ctx.vars.by = "b" .. runs
      if runs > 1 then return end
      ctx.vars.large = LARGE .. "lost"
      clock:advance(31)
      assert(b:run())
    end })
    flow:finish "z"
    a, b, clock = kit.pair(backend, { flow })
    local id = assert(a:start "t.lost")
    assert(a:run())
    assert.equal(2, runs)
    assert.same({ large = LARGE, by = "b2" }, vars(a, id))
  end)

  it("agree with a plain table, whatever is done to them (seed " .. SEED
    .. ")", function()
    math.randomseed(SEED)
    local SIZES = { 1, 30, 500, 1000, 1100, 5000, 30000 }
    local model, acts = { n = 0 }, {}
    for i = 1, 25 do
      acts[i] = function(v)
        for _ = 1, math.random(0, 12) do
          local name = "v" .. math.random(60)
          local value
          if math.random() < 0.7 then
            value = string.char(math.random(97, 122)):rep(
              SIZES[math.random(#SIZES)])
          end
          v[name], model[name] = value, value
        end
        if math.random() < 0.1 then
          for name in pairs(model) do
            if name ~= "n" then v[name], model[name] = nil, nil end
          end
        end
        model.n = i
      end
    end
    local engine, id, clock = start(backend, acts)
    for i = 1, #acts do
      assert.equal(i, vars(engine, id).n)
      assert.same(model, vars(engine, id))
      go_on(engine, clock)
    end
    assert.same(model, assert(engine:get(id)).output)
  end)
end)

-- Parallel branches: what a fork makes, which joins fire, and what becomes of
-- those that come too late or not at all.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local HOUR = 3600

--- A workflow of { kind, name, options } in order, which starts at the first.
local function graph(nodes, options)
  local given = { code = "t.fork", start = nodes[1][2] }
  for key, value in pairs(options or {}) do given[key] = value end
  local flow = pawl.workflow(given)
  for _, node in ipairs(nodes) do flow[node[1]](flow, node[2], node[3]) end
  return flow
end

local function step(name, next, run, more)
  local options = { next = next, run = run or function() end }
  for key, value in pairs(more or {}) do options[key] = value end
  return { "step", name, options }
end

local function wait(name, next, more)
  local options = { event = "go." .. name, next = next }
  for key, value in pairs(more or {}) do options[key] = value end
  return { "wait", name, options }
end

local function fork(name, next) return { "fork", name, { next = next } } end

local function join(name, next, more)
  local options = { next = next }
  for key, value in pairs(more or {}) do options[key] = value end
  return { "join", name, options }
end

local DONE = { "finish", "z", { output = function(ctx) return ctx.vars end } }

--- Starts one and runs it as far as it goes.
local function begin(engine, input)
  local id = assert(engine:start("t.fork", input))
  assert(engine:run())
  return id
end

local function go(engine, id, name, data)
  assert.equal(1, assert(engine:signal { name = "go." .. name, instance = id,
    data = data }))
end

local function instance(engine, id) return assert(engine:get(id)) end

--- "2 a waiting, 3 b waiting"
local function stand(engine, id, options)
  local words = {}
  for i, t in ipairs(assert(engine:tokens(id, options))) do
    words[i] = ("%d %s %s"):format(t.no, t.node, t.state)
  end
  return table.concat(words, ", ")
end

--- Entries of history at a node, or of a type.
local function entries(engine, id, match)
  local found = {}
  for _, entry in ipairs(assert(engine:history(id))) do
    local same = true
    for key, value in pairs(match) do same = same and entry[key] == value end
    if same then found[#found + 1] = entry end
  end
  return found
end

local function add(name)
  return function(ctx)
    ctx.vars.ran = ctx.vars.ran or pawl.array {}
    table.insert(ctx.vars.ran, name)
  end
end

kit.describe("a fork", function(backend)
  it("makes a token of each branch, which knows parent, fork and branch",
    function()
      local engine = backend.fresh()
      assert(engine:load(graph {
        fork("f", { ship = "a", bill = "b" }), wait("a", "j"), wait("b", "j"),
        join("j", "z"), DONE }))
      local id = begin(engine)
      assert.equal("waiting", kit.status(engine, id))
      local tokens = assert(engine:tokens(id))
      assert.equal(2, #tokens)
      local seen = {}
      for i, t in ipairs(tokens) do
        assert.equal(i + 1, t.no)
        assert.same({ 1, "1", "f" }, { t.parent, t.scope, t.fork })
        seen[t.branch] = t.node
      end
      assert.same({ ship = "a", bill = "b" }, seen)
    end)

  it("names branches after their nodes when it lists them, in that order",
    function()
      local engine = backend.fresh()
      assert(engine:load(graph {
        fork("f", { "c", "a", "b" }), wait("c", "j"), wait("a", "j"),
        wait("b", "j"), join("j", "z"), DONE }))
      local id = begin(engine)
      assert.equal("2 c waiting, 3 a waiting, 4 b waiting", stand(engine, id))
      for _, t in ipairs(assert(engine:tokens(id))) do
        assert.equal(t.node, t.branch)
      end
    end)

  it("tells a handler its branch and token", function()
    local engine = backend.fresh()
    local seen = {}
    local function note(ctx)
      seen[ctx.node] = { ctx.token.no, ctx.token.branch }
    end
    assert(engine:load(graph {
      step("s", "f", note), fork("f", { "a", "b" }), step("a", "j", note),
      step("b", "j", note), join("j", "e"), step("e", "z", note), DONE }))
    local id = begin(engine)
    assert.completed(engine, id)
    assert.same({ s = { 1 }, a = { 2, "a" }, b = { 3, "b" }, e = { 4 } }, seen)
  end)

  it("costs no record of its own: it rides with the step before", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      step("s", "f"), fork("f", { "a", "b" }), step("a", "j"), step("b", "j"),
      join("j", "z"), DONE }))
    local id = begin(engine)
    assert.equal("step s, step a, step b", kit.trail(engine, id))
    local first, _, last = table.unpack(assert(engine:history(id)))
    assert.equal("f (a, b)", first.path)
    assert.matches("j", last.path)
    assert.matches("z", last.path)
  end)

  it("runs one step of each branch in turns, never two at once", function()
    local engine = backend.fresh()
    local inside, order = 0, {}
    local function note(ctx)
      inside = inside + 1
      assert(inside == 1)
      order[#order + 1] = ctx.node
      inside = inside - 1
    end
    assert(engine:load(graph {
      fork("f", { "a1", "b1" }), step("a1", "a2", note), step("a2", "j", note),
      step("b1", "b2", note), step("b2", "j", note), join("j", "z"), DONE }))
    begin(engine)
    assert.same({ "a1", "b1", "a2", "b2" }, order)
  end)

  it("lets a branch see the variables as the others leave them", function()
    local engine = backend.fresh()
    local function count(ctx) ctx.vars.n = (ctx.vars.n or 0) + 1 end
    assert(engine:load(graph {
      fork("f", { "a1", "b1", "c1" }), step("a1", "a2", count),
      step("a2", "j", count), step("b1", "b2", count), step("b2", "j", count),
      step("c1", "j", count), join("j", "z"), DONE }))
    local id = begin(engine)
    assert.same({ n = 5 }, instance(engine, id).output)
  end)

  it("gives each branch a copy of the token's own data", function()
    local engine = backend.fresh()
    local after
    local function change(ctx)
      local data = ctx.token.data
      ctx.vars[ctx.node] = { data.common, data.mine }
      data.mine = ctx.node
      data.common = "changed by " .. ctx.node
    end
    local function again(ctx)
      ctx.vars[ctx.node] = { ctx.token.data.common, ctx.token.data.mine }
    end
    assert(engine:load(graph {
      step("s", "f", function(ctx) ctx.token.data.common = 1 end),
      fork("f", { "a", "b" }), step("a", "a2", change), step("a2", "j", again),
      step("b", "b2", change), step("b2", "j", again),
      join("j", "e"),
      step("e", "z", function(ctx) after = ctx.token.data end), DONE }))
    local id = begin(engine)
    assert.same({ a = { 1 }, b = { 1 }, a2 = { "changed by a", "a" },
      b2 = { "changed by b", "b" } }, instance(engine, id).output)
    assert.same({ common = 1 }, after)
  end)

  it("keeps the branches' data while they wait", function()
    local engine = backend.fresh()
    local function keep(ctx) ctx.token.data.mine = ctx.token.branch end
    local function tell(ctx)
      ctx.vars[ctx.token.branch] = ctx.token.data.mine
    end
    assert(engine:load(graph {
      fork("f", { "a", "b" }), step("a", "wa", keep), step("b", "wb", keep),
      wait("wa", "ta"), wait("wb", "tb"), step("ta", "j", tell),
      step("tb", "j", tell), join("j", "z"), DONE }))
    local id = begin(engine)
    for _, t in ipairs(assert(engine:tokens(id))) do
      assert.same({ mine = t.branch }, t.data)
    end
    go(engine, id, "wb")
    assert(engine:run())
    go(engine, id, "wa")
    assert(engine:run())
    assert.same({ a = "a", b = "b" }, instance(engine, id).output)
  end)

  it("may be the first node, and may come again in a loop", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b" }), step("a", "j"), step("b", "j"), join("j", "n"),
      step("n", { again = "f", enough = "z" }, function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
        return ctx.vars.n < 3 and "again" or "enough"
      end), DONE }))
    local id = begin(engine)
    assert.same({ n = 3 }, instance(engine, id).output)
    assert.matches("^started %a, step a, step b, step n, step a, step b, "
      .. "step n, step a, step b, step n$", kit.trail(engine, id))
    local numbers = {}
    for _, entry in ipairs(entries(engine, id, { node = "a", type = "step" }))
    do
      numbers[#numbers + 1] = entry.token
    end
    assert.same({ 2, 5, 8 }, numbers)
  end)

  it("shows what is consumed or dropped to those who ask for all", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b" }), wait("a", "j"), wait("b", "j"),
      join("j", "w", { expect = "any", losers = "cancel" }), wait("w", "z"),
      DONE }))
    local id = begin(engine)
    go(engine, id, "a")
    assert(engine:run())
    assert.equal("4 w waiting", stand(engine, id))
    assert.matches("2 j consumed, 3 b dropped",
      stand(engine, id, { all = true }))
    go(engine, id, "w")
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("", stand(engine, id))
    assert.matches("3 b dropped", stand(engine, id, { all = true }))
  end)
end)

kit.describe("a finish inside a fork", function(backend)
  it("ends its branch alone; the last one ends the instance", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b" }), wait("a", "end_a"), wait("b", "end_b"),
      { "finish", "end_a", { output = function() return "a" end } },
      { "finish", "end_b", { output = function() return "b" end } } }))
    local id = begin(engine)
    go(engine, id, "b")
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert.equal("2 a waiting", stand(engine, id))
    go(engine, id, "a")
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("a", instance(engine, id).output)
  end)

  it("may end all branches in one decision", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b" }), step("a", "z", add "a"),
      step("b", "z", add "b"), DONE }))
    local id = begin(engine)
    assert.completed(engine, id)
    assert.same({ ran = { "a", "b" } }, instance(engine, id).output)
  end)

  it("ends the instance at once with terminate, and drops the others",
    function()
      local engine, clock, url = backend.fresh()
      assert(engine:load(graph {
        fork("f", { "a", "b", "c", "d" }), wait("a", "stop"), wait("b", "z"),
        { "timer", "c", { after = HOUR, next = "late" } },
        step("late", "z", add "late"),
        { "task", "d", { title = "Look", next = "z" } },
        { "finish", "stop", { terminate = true } }, DONE }))
      local id = begin(engine)
      go(engine, id, "a")
      assert(engine:run())
      assert.completed(engine, id)
      assert.equal("", stand(engine, id))
      assert.matches("3 b dropped, 4 c dropped, 5 d dropped",
        stand(engine, id, { all = true }))
      assert.equal(0, kit.count(backend, url, "subscription"))
      assert.equal("cancelled", assert(engine.tasks:list { instance = id,
        status = "cancelled" })[1].status)
      clock:advance(2 * HOUR)
      assert(engine:run())
      assert.equal(0, #entries(engine, id, { node = "late" }))
    end)

  it("fails the instance when it says so, and drops the others", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b" }), wait("a", "bad"), wait("b", "z"),
      { "finish", "bad", { status = "failed" } }, DONE }))
    local id = begin(engine)
    go(engine, id, "a")
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal("bad", instance(engine, id).error.raised
      or instance(engine, id).error.code)
    assert.matches("3 b dropped", stand(engine, id, { all = true }))
    local reached, err = engine:signal { name = "go.b", instance = id }
    assert.is_nil(reached)
    assert.equal("already_finished", err.code)
  end)

  it("in a branch lets an all join go on without it", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b", "c" }), step("a", "j"), step("b", "j"),
      wait("c", { received = "d", timeout = "j" }, { timeout = "2h" }),
      step("d", "end_c"), join("j", "w"), wait("w", "z"), { "finish", "end_c" },
      DONE }))
    local id = begin(engine)
    assert.equal("2 j waiting, 3 j waiting, 4 c waiting", stand(engine, id))
    go(engine, id, "c")
    assert(engine:run())
    assert.equal("5 w waiting", stand(engine, id))
    assert.equal("completed", (function()
      go(engine, id, "w")
      assert(engine:run())
      return kit.status(engine, id)
    end)())
  end)
end)

kit.describe("a failure in a branch", function(backend)
  local function failing(max, more)
    local left = max
    return step("a", "j", function()
      left = left - 1
      if left >= 0 then error { code = "broken", message = "not yet" } end
    end, more)
  end

  it("is tried again while the other branches go on", function()
    local engine, clock = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b" }),
      failing(1, { retry = { max = 3, base = 60, jitter = 0 } }),
      step("b", "b2", add "b"), step("b2", "j", add "b2"), join("j", "z"),
      DONE }))
    local id = begin(engine)
    assert.matches("^started %a, failed a, step b, step b2$",
      kit.trail(engine, id))
    assert.equal("2 a active, 3 j waiting", stand(engine, id))
    assert.equal("running", kit.status(engine, id))
    clock:advance(61)
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ ran = { "b", "b2" } }, instance(engine, id).output)
    local done = entries(engine, id, { node = "a", type = "step" })[1]
    assert.equal(2, done.attempt)
  end)

  it("fails the instance once it is exhausted, and drops the others",
    function()
      local engine, _, url = backend.fresh()
      assert(engine:load(graph {
        fork("f", { "a", "b" }), failing(9, { retry = { max = 1 } }),
        wait("b", "j"), join("j", "z"), DONE }))
      local id = begin(engine)
      local failed = instance(engine, id)
      assert.equal("failed", failed.status)
      assert.equal("broken", failed.error.raised or failed.error.code)
      assert.matches("3 b dropped", stand(engine, id, { all = true }))
      assert.equal(0, kit.count(backend, url, "subscription"))
    end)

  it("goes where on_error leads, inside its branch", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b" }),
      failing(9, { retry = { max = 1 }, on_error = { broken = "mend" } }),
      step("mend", "j", function(ctx) ctx.vars.branch = ctx.token.branch end),
      step("b", "j"), join("j", "z"), DONE }))
    local id = begin(engine)
    assert.completed(engine, id)
    assert.same({ branch = "a" }, instance(engine, id).output)
    assert.is_nil(instance(engine, id).error)
  end)
end)

kit.describe("a join of all", function(backend)
  it("waits for the last, and lists who led there in order of arrival",
    function()
      local engine = backend.fresh()
      assert(engine:load(graph {
        fork("f", { "a", "b", "c" }), wait("a", "j"), wait("b", "j"),
        wait("c", "j"), join("j", "e"), step("e", "z"), DONE }))
      local id = begin(engine)
      for _, name in ipairs { "c", "a", "b" } do
        assert.equal("waiting", kit.status(engine, id))
        go(engine, id, name)
        assert(engine:run())
      end
      assert.completed(engine, id)
      local seqs = {}
      for i, name in ipairs { "c", "a", "b" } do
        seqs[i] = entries(engine, id, { node = name, type = "received" })[1].seq
      end
      local after = entries(engine, id, { node = "e" })
      assert.equal(1, #after)
      assert.same(seqs, after[1].previous)
    end)

  it("says of each branch's first record that the fork's step led there",
    function()
      local engine = backend.fresh()
      assert(engine:load(graph {
        step("s", "f"), fork("f", { "a", "b" }), step("a", "j"),
        step("b", "j"), join("j", "z"), DONE }))
      local id = begin(engine)
      local _, a, b = table.unpack(assert(engine:history(id)))
      assert.same({ 1 }, a.previous)
      assert.same({ 1 }, b.previous)
    end)

  it("lets a branch loop back before it", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b" }), step("b", "j"),
      step("a", { again = "a", on = "j" }, function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
        return ctx.vars.n < 5 and "again" or "on"
      end), join("j", "e"), step("e", "z", add "e"), DONE }))
    local id = begin(engine)
    assert.same({ n = 5, ran = { "e" } }, instance(engine, id).output)
  end)

  it("takes the last arrivals at two joins in one decision", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "g", "h" }), fork("g", { "a", "b" }),
      fork("h", { "c", "d" }), step("a", "jg"), step("b", "jg"),
      step("c", "jh"), step("d", "jh"), join("jg", "eg"), join("jh", "eh"),
      step("eg", "j", add "eg"), step("eh", "j", add "eh"), join("j", "e"),
      step("e", "z", add "e"), DONE }))
    local id = begin(engine)
    assert.same({ ran = { "eg", "eh", "e" } }, instance(engine, id).output)
    local seqs = {}
    for _, name in ipairs { "a", "b", "c", "d", "eg", "eh" } do
      seqs[name] = entries(engine, id, { node = name, type = "step" })[1].seq
    end
    assert.same({ seqs.a, seqs.b },
      entries(engine, id, { node = "eg" })[1].previous)
    assert.same({ seqs.c, seqs.d },
      entries(engine, id, { node = "eh" })[1].previous)
    assert.same({ seqs.eg, seqs.eh },
      entries(engine, id, { node = "e" })[1].previous)
  end)

  it("fires once though the last two arrive by two engines while it is leased",
    function()
      local engine, rival, id
      local runs = 0
      local flow = graph {
        fork("f", { "a", "b", "c" }), wait("a", "j"), wait("b", "j"),
        step("c", "j", function()
          go(rival, id, "a")
          go(rival, id, "b")
          assert.same(0, assert(rival:run()).committed) -- it is leased
        end), join("j", "e"),
        step("e", "z", function() runs = runs + 1 end), DONE }
      engine, rival = kit.pair(backend, { flow })
      id = assert(engine:start "t.fork")
      assert(engine:run())
      assert(rival:run())
      assert.completed(engine, id)
      assert.equal(1, runs)
      assert.equal(1, #entries(engine, id, { node = "e" }))
      assert.equal(3, #entries(engine, id, { node = "e" })[1].previous)
    end)

  it("fires once though the worker of the last branch died on its way",
    function()
      local engine, rival, clock, id
      local runs, ends = 0, 0
      local flow = graph {
        fork("f", { "a", "b" }), wait("a", "c"), step("b", "j"),
        step("c", "j", function()
          runs = runs + 1
          if runs == 1 then
            clock:advance(31)
            assert(rival:run()) -- takes over, and goes through the join
          end
        end), join("j", "e"),
        step("e", "z", function() ends = ends + 1 end), DONE }
      engine, rival, clock = kit.pair(backend, { flow })
      id = begin(engine)
      go(engine, id, "a")
      assert.equal(1, assert(engine:run()).lost)
      assert.same({ 2, 1 }, { runs, ends })
      assert.completed(engine, id)
      assert.equal(1, #entries(engine, id, { node = "e" }))
    end)

  it("passes on what comes to it past the fork", function()
    local engine = backend.fresh()
    local flow = graph {
      { "choice", "c", { choose = function(ctx)
        return ctx.input.split and "yes" or "no"
      end, next = { yes = "f", no = "s" } } },
      step("s", "j"), fork("f", { "a", "b" }), step("a", "j"), step("b", "j"),
      join("j", "e"), step("e", "z", add "e"), DONE }
    assert(engine:load(flow))
    for _, split in ipairs { true, false } do
      local id = begin(engine, { split = split })
      assert.same({ ran = { "e" } }, instance(engine, id).output)
    end
  end)

  it("goes on once a branch that cannot come any more is dropped", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "g" }), step("a", "j"), fork("g", { "b", "c" }),
      step("b", "first"), wait("c", "first"),
      join("first", "j", { expect = "any" }), join("j", "e"),
      step("e", "z", add "e"), DONE }))
    local id = begin(engine)
    go(engine, id, "c")
    assert(engine:run())
    assert.same({ ran = { "e" } }, instance(engine, id).output)
    assert.equal(1, #entries(engine, id, { type = "dropped" }))
    assert.equal(2, #entries(engine, id, { node = "e" })[1].previous)
  end)

  it("does not hear of instances that were cancelled", function()
    local engine, rival, id
    local runs = 0
    local flow = graph {
      fork("f", { "a", "b" }), wait("a", "j"),
      step("b", "j", function() assert(rival:cancel(id, "enough")) end),
      join("j", "e"), step("e", "z", function() runs = runs + 1 end), DONE }
    engine, rival = kit.pair(backend, { flow })
    id = assert(engine:start "t.fork")
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(0, runs)
    assert.equal("", stand(engine, id))
    assert.not_matches("waiting", stand(engine, id, { all = true }))
    assert.not_matches("active", stand(engine, id, { all = true }))
  end)
end)

kit.describe("forks within forks", function(backend)
  it("join inside out, each level with its own data", function()
    local engine = backend.fresh()
    local function tell(ctx)
      local d = ctx.token.data
      ctx.vars[ctx.node] = { top = d.top, mid = d.mid, low = d.low,
        branch = ctx.token.branch }
    end
    assert(engine:load(graph {
      step("s", "f", function(ctx) ctx.token.data.top = "s" end),
      fork("f", { "m", "o" }),
      step("m", "g", function(ctx) ctx.token.data.mid = "m" end),
      fork("g", { "a", "b" }),
      step("a", "wa", function(ctx) ctx.token.data.low = "a" end),
      step("b", "wb", function(ctx) ctx.token.data.low = "b" end),
      wait("wa", "jg"), wait("wb", "jg"), join("jg", "after_g"),
      step("after_g", "j", tell),
      step("o", "wo"), wait("wo", "tell_o"), step("tell_o", "j", tell),
      join("j", "after_f"), step("after_f", "z", tell), DONE }))
    local id = begin(engine)
    local scopes = {}
    for _, t in ipairs(assert(engine:tokens(id))) do
      scopes[t.node] = { t.scope, t.fork, t.branch, t.parent }
    end
    assert.same({ wa = { "1.2", "g", "a", 2 }, wb = { "1.2", "g", "b", 2 },
      wo = { "1", "f", "o", 1 } }, scopes)
    for _, name in ipairs { "wb", "wo", "wa" } do
      go(engine, id, name)
      assert(engine:run())
    end
    assert.same({
      after_g = { top = "s", mid = "m", branch = "m" },
      tell_o = { top = "s", branch = "o" }, after_f = { top = "s" },
    }, instance(engine, id).output)
  end)

  it("may be joined by one join outside all of them", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "g", "c" }), fork("g", { "a", "b" }), step("a", "j"),
      step("b", "j"), wait("c", "j"), join("j", "e"),
      step("e", "z", add "e"), DONE }))
    local id = begin(engine)
    assert.equal("waiting", kit.status(engine, id))
    go(engine, id, "c")
    assert(engine:run())
    assert.same({ ran = { "e" } }, instance(engine, id).output)
    assert.equal(3, #entries(engine, id, { node = "e" })[1].previous)
  end)

  it("may join a part of a fork's branches before the rest", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b", "c" }), wait("a", "part"), wait("b", "part"),
      wait("c", "all"), join("part", "p"), step("p", "all", add "p"),
      join("all", "e"), step("e", "z", add "e"), DONE }))
    local id = begin(engine)
    for _, name in ipairs { "c", "b" } do
      go(engine, id, name)
      assert(engine:run())
    end
    assert.equal("waiting", kit.status(engine, id))
    go(engine, id, "a")
    assert(engine:run())
    assert.same({ ran = { "p", "e" } }, instance(engine, id).output)
    assert.equal(2, #entries(engine, id, { node = "p" })[1].previous)
    assert.equal(2, #entries(engine, id, { node = "e" })[1].previous)
  end)
end)

kit.describe("a join of any", function(backend)
  local function race(losers, more)
    local nodes = {
      fork("f", { "a", "b" }), wait("a", "a2"), step("a2", "j", add "a2"),
      wait("b", "b2"), step("b2", "j", add "b2"),
      join("j", "e", { expect = "any", losers = losers }),
      step("e", "w", add "e"), wait("w", "z"), DONE }
    for _, node in ipairs(more or {}) do nodes[#nodes + 1] = node end
    return graph(nodes)
  end

  it("goes on with the first; the others run on, and come too late",
    function()
      local engine = backend.fresh()
      assert(engine:load(race()))
      local id = begin(engine)
      go(engine, id, "b")
      assert(engine:run())
      assert.equal("2 a waiting, 4 w waiting", stand(engine, id))
      go(engine, id, "a")
      assert(engine:run())
      assert.equal("4 w waiting", stand(engine, id))
      assert.matches("2 j dropped", stand(engine, id, { all = true }))
      local dropped = entries(engine, id, { type = "dropped" })
      assert.equal(1, #dropped)
      assert.same({ 2, "j" }, { dropped[1].token, dropped[1].node })
      assert.matches("too late", dropped[1].text)
      go(engine, id, "w")
      assert(engine:run())
      assert.same({ ran = { "b2", "e", "a2" } }, instance(engine, id).output)
    end)

  it("calls the others off when it is told to", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b", "c", "d", "g" }), wait("a", "j"), wait("b", "j"),
      { "timer", "c", { after = HOUR, next = "late" } },
      step("late", "j", add "late"),
      { "task", "d", { title = "Look", next = "j" } },
      fork("g", { "g1", "g2" }), wait("g1", "jg"), wait("g2", "jg"),
      join("jg", "late"),
      join("j", "w", { expect = "any", losers = "cancel" }),
      wait("w", "z"), DONE }))
    local id = begin(engine)
    go(engine, id, "a")
    assert(engine:run())
    assert.matches("^%d+ w waiting$", stand(engine, id))
    assert.equal(5, #entries(engine, id, { type = "dropped" }))
    assert.equal(1, kit.count(backend, url, "subscription"))
    assert.equal("cancelled", assert(engine.tasks:list { instance = id,
      status = "cancelled" })[1].status)
    clock:advance(2 * HOUR)
    assert.equal(0, assert(engine:run()).steps)
    go(engine, id, "w")
    assert(engine:run())
    assert.same({}, instance(engine, id).output)
  end)

  it("does not call off what cannot come to it", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b", "c" }), wait("a", "j"), wait("b", "j"),
      wait("c", "z"), join("j", "y", { expect = "any", losers = "cancel" }),
      { "finish", "y" }, DONE }))
    local id = begin(engine)
    go(engine, id, "b")
    assert(engine:run())
    assert.equal("4 c waiting", stand(engine, id))
    go(engine, id, "c")
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("fires once when both come in one decision", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b" }), step("a", "j", add "a"),
      step("b", "j", add "b"), join("j", "e", { expect = "any" }),
      step("e", "z", add "e"), DONE }))
    local id = begin(engine)
    assert.equal(1, #entries(engine, id, { node = "e" }))
    assert.same({ ran = { "a", "b", "e" } }, instance(engine, id).output)
  end)

  it("fires once though the other's event comes while the first is leased, "
    .. "and keeps what the handler did", function()
      for _, losers in ipairs { "run", "cancel" } do
        local engine, rival, id
        local runs = { a = 0, e = 0 }
        local flow = graph {
          fork("f", { "a", "b" }),
          step("a", "j", function(ctx)
            runs.a = runs.a + 1
            ctx.vars.a = runs.a
            go(rival, id, "b")
          end), wait("b", "j"),
          join("j", "e", { expect = "any", losers = losers }),
          step("e", "z", function() runs.e = runs.e + 1 end), DONE }
        engine, rival = kit.pair(backend, { flow })
        id = assert(engine:start "t.fork")
        assert(engine:run())
        assert(rival:run())
        assert.completed(engine, id)
        assert.same({ a = 1, e = 1 }, runs)
        assert.same({ a = 1 }, instance(engine, id).output)
        assert.equal(1, #entries(engine, id, { node = "e" }))
        backend.cleanup()
      end
    end)

  it("forgets that it fired when the fork comes again", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      step("n", { again = "f", enough = "z" }, function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
        return ctx.vars.n < 4 and "again" or "enough"
      end),
      fork("f", { "a", "b" }), step("a", "j"), step("b", "b2"),
      step("b2", "b3"), step("b3", "j"),
      join("j", "n", { expect = "any" }), DONE }))
    local id = begin(engine)
    assert.completed(engine, id)
    assert.equal(3, #entries(engine, id, { type = "dropped" }))
    assert.equal(4, #entries(engine, id, { node = "n" }))
  end)
end)

kit.describe("a join of a number", function(backend)
  local function two_of(n, more)
    local nodes, names = {}, {}
    for i = 1, n do
      names[i] = "w" .. i
      nodes[#nodes + 1] = wait(names[i],
        { received = "c" .. i }, { into = "give_up" })
      nodes[#nodes + 1] = { "choice", "c" .. i, { choose = function(ctx)
        return ctx.vars.give_up == true and "no" or "yes"
      end, next = { yes = "j", no = "out" } } }
    end
    table.insert(nodes, 1, fork("f", names))
    local options = { expect = 2 }
    for key, value in pairs(more or {}) do options[key] = value end
    nodes[#nodes + 1] = join("j", "e", options)
    nodes[#nodes + 1] = step("e", "w", add "e")
    nodes[#nodes + 1] = wait("w", "z")
    nodes[#nodes + 1] = { "finish", "out" }
    nodes[#nodes + 1] = DONE
    return graph(nodes)
  end

  it("goes on with that many, in order; the rest come too late", function()
    local engine = backend.fresh()
    assert(engine:load(two_of(4)))
    local id = begin(engine)
    for _, name in ipairs { "w4", "w2", "w1", "w3" } do
      go(engine, id, name)
      assert(engine:run())
    end
    assert.equal("6 w waiting", stand(engine, id))
    assert.equal(1, #entries(engine, id, { node = "e" }))
    local seqs = {}
    for i, name in ipairs { "w4", "w2" } do
      seqs[i] = entries(engine, id, { node = name, type = "received" })[1].seq
    end
    assert.same(seqs, entries(engine, id, { node = "e" })[1].previous)
    assert.equal(2, #entries(engine, id, { type = "dropped" }))
  end)

  it("calls the rest off when it is told to", function()
    local engine = backend.fresh()
    assert(engine:load(two_of(4, { losers = "cancel" })))
    local id = begin(engine)
    go(engine, id, "w1")
    go(engine, id, "w4")
    assert(engine:run())
    assert.equal("6 w waiting", stand(engine, id))
    assert.equal(2, #entries(engine, id, { type = "dropped" }))
  end)

  it("fails with join_unreachable when too few can still come", function()
    local engine = backend.fresh()
    assert(engine:load(two_of(3)))
    local id = begin(engine)
    go(engine, id, "w1")
    assert(engine:run())
    go(engine, id, "w2", true)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    go(engine, id, "w3", true)
    assert(engine:run())
    local failed = instance(engine, id)
    assert.equal("failed", failed.status)
    assert.equal("join_unreachable", failed.error.code)
    assert.matches("expects 2 tokens; 1 came", failed.error.message)
    assert.equal(0, #entries(engine, id, { node = "e" }))
  end)

  it("fails as soon as too few can come, though nobody has come yet",
    function()
      for _, one in ipairs { true, false } do
        local engine = backend.fresh()
        assert(engine:load(two_of(3)))
        local id = begin(engine)
        for i = 1, 2 do
          go(engine, id, "w" .. i, true)
          if one then assert(engine:run()) end
        end
        assert(engine:run())
        local failed = instance(engine, id)
        assert.equal("failed", failed.status)
        assert.equal("join_unreachable", failed.error.code)
        assert.matches("expects 2 tokens; 0 came and 1 more can",
          failed.error.message)
        local record = entries(engine, id, { type = "failed" })
        assert.equal(1, #record)
        assert.equal("j", record[1].node)
        assert.equal("", stand(engine, id))
        backend.cleanup()
      end
    end)

  it("fails though all branches end elsewhere in one decision", function()
    local engine = backend.fresh()
    local nodes = { fork("f", { "a", "b" }), join("j", "z", { expect = 2 }) }
    for _, name in ipairs { "a", "b" } do
      nodes[#nodes + 1] = { "choice", name, { choose = function()
        return "out"
      end, next = { on = "j", out = "out" } } }
    end
    nodes[#nodes + 1] = { "finish", "out" }
    nodes[#nodes + 1] = DONE
    assert(engine:load(graph(nodes)))
    local id = begin(engine)
    assert.failed(engine, id)
    assert.equal("join_unreachable", instance(engine, id).error.code)
  end)

  it("does not fail once it has fired, however the rest ends", function()
    local engine = backend.fresh()
    assert(engine:load(two_of(4)))
    local id = begin(engine)
    go(engine, id, "w1")
    go(engine, id, "w3")
    assert(engine:run())
    for _, name in ipairs { "w2", "w4" } do
      go(engine, id, name, true)
      assert(engine:run())
    end
    assert.equal("6 w waiting", stand(engine, id))
    go(engine, id, "w")
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("does not fail when what goes on from it ends inside the fork", function()
    local engine = backend.fresh()
    assert(engine:load(graph {
      fork("f", { "a", "b", "c" }), wait("a", "part"), wait("b", "part"),
      wait("c", "all"), join("part", "p", { expect = 2 }),
      { "choice", "p", { choose = function() return "out" end,
        next = { on = "all", out = "out" } } },
      join("all", "z"), { "finish", "out" }, DONE }))
    local id = begin(engine)
    go(engine, id, "c")
    go(engine, id, "a")
    go(engine, id, "b")
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("fails its item alone, in an each that collects", function()
    local engine = backend.fresh()
    local function pick(name)
      return { "choice", name, { choose = function(ctx)
        return ctx.token.data.item
      end, next = { on = "j", out = "out" } } }
    end
    assert(engine:load(graph {
      { "each", "e", { items = function() return { "on", "out", "on" } end,
        branch = "f", on_failure = "collect", into = "got", next = "z" } },
      fork("f", { "a", "b" }), pick "a", pick "b",
      join("j", "last", { expect = 2 }),
      step("last", "e", function() return nil, "done" end),
      { "finish", "out" }, DONE }))
    local id = begin(engine)
    local got = instance(engine, id).output.got
    assert.same({ "done", "done" }, { got[1], got[3] })
    assert.equal("join_unreachable", got[2].error.code)
  end)

  it("cannot ask for more than its branches", function()
    local engine = backend.fresh()
    local info, err = engine:load(two_of(2, { expect = 3 }))
    assert.is_nil(info)
    assert.equal("definition", err.code)
    assert.matches('join "j"', err.message)
  end)
end)

kit.describe("the first to come", function(backend)
  local function race(expect, losers, more)
    local nodes = { join("j", "e", { expect = expect, losers = losers }),
      step("e", "w", function(ctx)
        ctx.vars.won = ctx.event and ctx.event.name
      end),
      wait("w", "z"), DONE }
    for _, node in ipairs(more) do table.insert(nodes, 1, node) end
    return graph(nodes)
  end

  local function came_before(engine, id, node)
    local before = {}
    local seqs = entries(engine, id, { node = node, type = "step" })[1].previous
    local history = assert(engine:history(id))
    for i, seq in ipairs(seqs) do before[i] = history[seq].node end
    return before
  end

  for _, losers in ipairs { "run", "cancel" } do
    it("wins, though the second came in the same decision; losers " .. losers,
      function()
        local engine, clock = backend.fresh()
        assert(engine:load(race("any", losers,
          { wait("b", "j"), wait("a", "j"), fork("f", { "a", "b" }) })))
        local id = begin(engine)
        go(engine, id, "b")
        clock:advance(HOUR)
        go(engine, id, "a")
        assert(engine:run())
        assert.equal("go.b", instance(engine, id).variables.won)
        assert.same({ "b" }, came_before(engine, id, "e"))
        assert.equal("4 w waiting", stand(engine, id))
        local dropped = entries(engine, id, { type = "dropped" })
        assert.equal(1, #dropped)
        assert.equal(2, dropped[1].token)
      end)
  end

  it("are as many as the number says, with three due at once", function()
    local engine, clock = backend.fresh()
    local function timer(name, hours)
      return { "timer", name, { after = hours * HOUR, next = "j" } }
    end
    local flow = graph { fork("f", { "a", "b", "c" }), timer("a", 3),
      timer("b", 1), timer("c", 2), join("j", "e", { expect = 2 }),
      step("e", "w"), wait("w", "z"), DONE }
    assert(engine:load(flow))
    local id = begin(engine)
    clock:advance(5 * HOUR)
    assert(engine:run())
    assert.same({ "b", "c" }, came_before(engine, id, "e"))
    assert.equal("5 w waiting", stand(engine, id))
    assert.equal(1, #entries(engine, id, { type = "dropped" }))
  end)

  it("are not those whose branch was listed first, when all come at once",
    function()
      local engine = backend.fresh()
      assert(engine:load(graph {
        fork("f", { "a", "b", "c" }), step("a", "a2"), step("a2", "j"),
        step("b", "j"), step("c", "j"), join("j", "e", { expect = 2 }),
        step("e", "z"), DONE }))
      local id = begin(engine)
      assert.same({ "b", "c" }, came_before(engine, id, "e"))
      assert.equal(1, #entries(engine, id, { type = "dropped" }))
    end)

  it("calls a branch off before its own step runs in the same turn",
    function()
      local engine = backend.fresh()
      local runs = 0
      assert(engine:load(graph {
        fork("f", { "a", "b" }), step("a", "j"),
        step("b", "j", function() runs = runs + 1 end),
        join("j", "z", { expect = "any", losers = "cancel" }), DONE }))
      local id = begin(engine)
      assert.completed(engine, id)
      assert.equal(0, runs)
    end)

  local function timer_and_event()
    return race("any", "cancel", {
      { "timer", "t", { after = HOUR, next = "j" } },
      wait("b", "j", { into = "got" }), fork("f", { "b", "t" }) })
  end

  it("is the timer, when the event came after its time and all is late",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(timer_and_event()))
      local id = begin(engine)
      clock:advance(2 * HOUR)
      go(engine, id, "b", 1)
      assert(engine:run())
      assert.same({ "t" }, came_before(engine, id, "e"))
      assert.is_nil(instance(engine, id).variables.got)
      assert.equal("4 w waiting", stand(engine, id))
    end)

  it("is the event, when that came before the time and all is late",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(timer_and_event()))
      local id = begin(engine)
      clock:advance(HOUR - 1)
      go(engine, id, "b", 1)
      clock:advance(HOUR)
      assert(engine:run())
      assert.same({ "b" }, came_before(engine, id, "e"))
      assert.equal(1, instance(engine, id).variables.got)
    end)

  it("is the task, when that was done before the time and all is late",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(race("any", "cancel", {
        { "timer", "t", { after = HOUR, next = "j" } },
        { "task", "b", { title = "Look", next = "j" } },
        fork("f", { "b", "t" }) })))
      for _, late in ipairs { false, true } do
        local id = begin(engine)
        local task = assert(engine.tasks:list { instance = id })[1]
        clock:advance(late and HOUR + 1 or HOUR - 1)
        assert(engine.tasks:complete(task.id, { by = "ann" }))
        clock:advance(HOUR)
        assert(engine:run())
        assert.same({ late and "t" or "b" }, came_before(engine, id, "e"))
      end
    end)
end)

kit.describe("a losing branch", function(backend)
  it("is called off with the items of its each", function()
    local engine, _, url = backend.fresh()
    local late = 0
    assert(engine:load(graph {
      fork("f", { "a", "b" }), wait("a", "j"),
      { "each", "b", { items = function() return { 1, 2, 3 } end, window = 2,
        branch = "item", next = "j" } },
      wait("item", "item2"), step("item2", "b", function()
        late = late + 1
      end),
      join("j", "w", { expect = "any", losers = "cancel" }), wait("w", "z"),
      DONE }))
    local id = begin(engine)
    assert.equal(3, kit.count(backend, url, "subscription"))
    go(engine, id, "a")
    assert(engine:run())
    assert.matches("^%d+ w waiting$", stand(engine, id))
    assert.equal(1, kit.count(backend, url, "subscription"))
    assert(engine:signal { name = "go.item", instance = id })
    go(engine, id, "w")
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(0, late)
  end)

  it("is called off with its child", function()
    local engine = backend.fresh()
    assert(engine:load(graph({ wait("w", "z"), DONE }, { code = "t.child" })))
    assert(engine:load(graph {
      fork("f", { "a", "b" }), wait("a", "j"),
      { "call", "b", { workflow = "t.child", next = "j" } },
      join("j", "w", { expect = "any", losers = "cancel" }), wait("w", "z"),
      DONE }))
    local id = begin(engine)
    local child = assert(engine:children(id))[1]
    assert.equal("waiting", child.status)
    go(engine, id, "a")
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, child.id))
    assert.equal("waiting", kit.status(engine, id))
    go(engine, id, "w")
    assert(engine:run())
    assert.completed(engine, id)
  end)
end)

kit.describe("what led to a join", function(backend)
  it("is listed in the order of history, whoever came first", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.led", start = "f" }
    flow:fork("f", { next = { a = "each", b = "j" } })
    flow:each("each", { items = function() return pawl.array {} end,
      branch = "item", next = "j" })
    flow:step("item", { run = function() end, next = "each" })
    flow:join("j", { next = "s" })
    flow:step("s", { run = function() end, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.led")
    assert(engine:run())
    local last = assert(engine:history(id))[3]
    assert.equal("s", last.node)
    assert.same({ 1, 2 }, { table.unpack(last.previous) })
  end)
end)

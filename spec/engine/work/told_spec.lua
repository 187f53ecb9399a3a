-- What is told of steps (trace): nothing is told as done that the store then
-- refuses, and no failure is told without its reason.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- A deferred constraint, which is looked at by the commit alone.
local CHECKED = {
  sqlite = [[create table done (id text);
    create trigger spec_refuse before insert on pawl_history
    when new.node = 'b' and new.type = 'step'
    begin select raise(abort, 'spec: no'); end]],
  postgres = [[create table public.done (id text);
    create function public.spec_refuse() returns trigger language plpgsql as
    'begin if new.node = ''b'' and new.type = ''step'' then
    raise exception ''spec: no''; end if; return null; end';
    create constraint trigger spec_refuse after insert on pawl.history
    deferrable initially deferred
    for each row execute function public.spec_refuse()]],
}

kit.describe("what is told of a step", function(backend)
  local function traced(flow, before)
    local told = {}
    local engine, clock, url = backend.fresh { trace = function(t)
      if t.outcome and t.kind ~= "instance" then
        told[#told + 1] = ("%s %s %s"):format(t.node, t.outcome, t.detail)
      end
    end }
    assert(engine:load(flow))
    if before then before(url) end
    local id = assert(engine:start(flow.code))
    assert(engine:run())
    return told, engine, id, clock
  end

  local function insert(ctx)
    ctx.db:query(backend.name == "postgres"
      and "insert into public.done (id) values ($1)"
      or "insert into done (id) values (?)", "x")
  end

  local function transactional(retry)
    local flow = pawl.workflow { code = "t.tx", start = "b" }
    flow:step("b", { transactional = true, run = insert, next = "z",
      retry = retry })
    flow:finish "z"
    return flow
  end

  it("is not that it is done when the store refuses the commit", function()
    local told, engine, id = traced(transactional(false), function(url)
      backend.sql(url, CHECKED[backend.name])
    end)
    assert.failed(engine, id)
    assert.equal(1, #told, table.concat(told, "; "))
    assert.matches("^b failed .*spec: no", told[1])
  end)

  it("is that it is done once that is committed, and once", function()
    local told, engine, id = traced(transactional(), function(url)
      backend.sql(url, "create table " .. (backend.name == "postgres"
        and "public." or "") .. "done (id text)")
    end)
    assert.completed(engine, id)
    assert.same({ "b done z" }, told)
  end)

  it("is the reason, too, where on_error leads on", function()
    local flow = pawl.workflow { code = "t.routed", start = "a" }
    flow:step("a", { run = function()
      error { code = "declined", message = "no money", retry = false }
    end, next = "z", on_error = { declined = "ask" } })
    flow:step("ask", { run = function() end, next = "z" })
    flow:finish "z"
    local told = traced(flow)
    assert.equal(2, #told)
    assert.equal("a failed declined: no money -> ask",
      (told[1]:gsub("%S+:%d+: ", "")))
  end)

  it("is no other attempt where the deadline comes first", function()
    local flow = pawl.workflow { code = "t.late", start = "a",
      deadline = "10s" }
    flow:step("a", { run = function() error "no" end, next = "z",
      retry = { max = 3, base = 60, cap = 60 } })
    flow:finish "z"
    local dues = {}
    local engine, clock = backend.fresh { trace = function(t)
      if t.outcome == "retry" then dues[#dues + 1] = t.due or false end
    end }
    assert(engine:load(flow))
    local id = assert(engine:start "t.late")
    assert(engine:run())
    assert.same({ false }, dues)
    clock:advance "11s"
    assert(engine:run())
    assert.failed(engine, id)
  end)
end)

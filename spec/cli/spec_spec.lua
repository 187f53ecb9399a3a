--- pawl spec: from a store or a file to a spec that `pawl test` runs.
local command = require "spec.support.command"

local FLOW <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "shop.order" }
flow:step("charge", { retry = { max = 3, base = 0 }, into = "paid",
  run = function(ctx)
    if ctx.attempt == 1 then error { code = "busy", message = "try later" } end
    ctx.vars.card = ctx.input.card
    return ctx.input.price
  end })
flow:choice("size", { choose = function(ctx)
  return ctx.vars.paid >= 100 and "large" or "small"
end, next = { large = "look", small = "done" } })
flow:task("look", { title = "Look at it", roles = { "clerk" },
  next = { yes = "done", no = "refused" } })
flow:finish "done"
flow:finish("refused", { status = "failed" })
return flow
]]

describe("pawl spec", function()
  local here, id

  local function ran(...)
    local run = here:pawl(...)
    assert.equal(0, run.code, run.out .. run.err)
    return run.out, run.err
  end

  local function work()
    ran("worker", "order.lua", "--until-idle", "--quiet")
  end

  --- Runs the spec that is given, alone.
  local function test(text)
    here:write("spec/order_spec.lua", text)
    return here:pawl("test", "--output=TAP")
  end

  before_each(function()
    here = command.folder()
    assert(os.execute("mkdir " .. here.dir .. "/spec"))
    here:write("order.lua", FLOW)
    ran("deploy", "order.lua")
    id = here:json("start", "shop.order", "--input",
      '{"price":120,"card":"4711-0815"}').id
    work()
  end)

  local function answer()
    local task = here:json("task", "list")[1].id
    ran("task", "claim", task, "--by", "ann", "--role", "clerk")
    ran("task", "complete", task, "--by", "ann", "--take", "yes")
    work()
  end

  it("writes what `pawl test` runs, of one that waits and of one that ended",
    function()
      local text = ran("spec", id)
      assert.matches('assert.waiting_at(engine, id, "look")', text, 1, true)
      local run = test(text)
      assert.equal(0, run.code, run.out .. text)
      assert.matches("ok 1 - an instance of shop.order goes on", run.out, 1,
        true)
      answer()
      text = ran("spec", id)
      assert.matches('assert.completed(engine, id)', text, 1, true)
      run = test(text)
      assert.equal(0, run.code, run.out .. text)
    end)

  it("fails when the workflow goes another way", function()
    answer()
    local text = ran("spec", id)
    here:write("order.lua", (FLOW:gsub("100", "1000")))
    local run = test(text)
    assert.equal(1, run.code)
    assert.matches("not ok 1", run.out, 1, true)
    run = here:pawl("spec", id, "--check")
    assert.equal(1, run.code)
    assert.matches("checked: it does not pass", run.err, 1, true)
  end)

  it("says whether it passes, and where its workflow is", function()
    local text, said = ran("spec", id, "--check")
    assert.matches("checked: it passes", said, 1, true)
    assert.equal(text, (ran("spec", id)))
    local other, why = ran("spec", id, "--load", "flows/order.lua")
    assert.matches('load = "flows/order.lua"', other, 1, true)
    assert.matches("there is no flows/order.lua here: --load FILE says where "
      .. "its workflow is, or `pawl workflow show shop.order 1 --source`", why,
      1, true)
  end)

  it("reads what `pawl export` wrote, and masks what is secret", function()
    answer()
    local lines = ran("export", id)
    here:write("order.jsonl", lines)
    local text = ran("spec", "order.jsonl", "--check")
    assert.equal(text, (ran("spec", id)))
    assert.equal(text, (ran("spec", "-", { stdin = lines })))
    for _, what in ipairs { id, "order.jsonl" } do
      text = ran("spec", what, "--mask", "vars.card", "--check")
      assert.is_nil(text:find("4711", 1, true), text)
      assert.matches("MASKED: vars.card", text, 1, true)
    end
  end)

  it("says what is wrong", function()
    here:write("two.jsonl", (ran("export", "--all"))
      .. (ran("export", here:json("start", "shop.order", "--input",
        '{"price":1}').id)))
    here:write("no.jsonl", "{}\n")
    here:write("cut.jsonl", (ran("export", id):gsub('\n{"is":"end.*', "\n")))
    for said, words in pairs {
      ["it has several instances"] = { "two.jsonl" },
      ["there is no instance ffff in it"] = { "two.jsonl", "--instance",
        "ffff" },
      ["line 1 is none of an export"] = { "no.jsonl" },
      ["the last instance is cut short"] = { "cut.jsonl" },
      ["--instance is of a file"] = { id, "--instance", "1" },
      ["there is no file none.jsonl, and no instance's id has such letters"] =
        { "none.jsonl" },
      ["there is no file out/none"] = { "out/none" },
    } do
      local run = here:pawl("spec", table.unpack(words))
      assert.is_true(run.code ~= 0, said)
      assert.matches(said, run.err, 1, true)
      assert.equal("", run.out)
    end
    ran("spec", "two.jsonl", "--instance", id)
  end)
end)

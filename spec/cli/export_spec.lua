-- pawl export and pawl import: files and pipes of instances.
local command = require "spec.support.command"

local FLOW = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.parent", start = "a" }
w:step("a", { next = "b", run = function(ctx)
  ctx.vars.card = "4111"
end })
w:call("b", { workflow = "t.child", next = "z" })
w:finish "z"
return w
]]

local CHILD = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.child", start = "b" }
w:timer("b", { after = "1h", next = "z" })
w:finish "z"
return w
]]

describe("pawl export", function()
  --- Two parents with a child each.
  local function folder()
    local here = command.folder()
    here:write("parent.lua", FLOW)
    here:write("child.lua", CHILD)
    for _ = 1, 2 do
      assert.equal(0, here:pawl("start", "t.parent").code)
    end
    local ran = here:pawl("worker", "parent.lua", "child.lua", "--until-idle")
    assert.equal(0, ran.code, ran.err)
    return here, here:json("list", "--workflow", "t.parent")[1].id
  end

  local function count(text, words)
    return select(2, text:gsub(words:gsub("%p", "%%%0"), ""))
  end

  it("writes each workflow once, and what import takes", function()
    local here, id = folder()
    local ran = here:pawl("export", "--all")
    assert.equal(0, ran.code, ran.err)
    assert.equal(4, count(ran.out, '{"is":"export"'))
    assert.equal(2, count(ran.out, '{"is":"workflow"'))
    local told, imported = here:json("import", "-", "--store", "two.db",
      { stdin = ran.out })
    assert.equal(0, imported.code, imported.err)
    assert.equal(4, #told.imported)
    here:write("all.jsonl", ran.out)
    local why = { "import", "all.jsonl", "--store", "three.db", "--release",
      "--by", "bob", "--reason", "it burnt" }
    assert.equal(0, here:pawl(table.unpack(why)).code)
    assert.equal(4, count(here:pawl("audit", "--by", "bob", "--type",
      "imported", "--store", "three.db").out, "it burnt"))
    local again = here:pawl("import", "all.jsonl", "--store", "two.db")
    assert.equal("imported 0, there before 4\n", again.out)
    assert.equal(id, here:json("show", id, "--store", "two.db").id)
  end)

  it("takes ids, children, filters and masks", function()
    local here, id = folder()
    assert.equal(1, count(here:pawl("export", id).out, '{"is":"export"'))
    local family = here:pawl("export", id:sub(-12), "--children").out
    assert.equal(2, count(family, '{"is":"export"'))
    assert.equal(2, count(here:pawl("export", "-w", "t.child",
      "--status", "waiting").out, '{"is":"export"'))
    assert.equal("", here:pawl("export", "--status", "failed").out)
    local masked = here:pawl("export", id, "--mask", "vars.card").out
    assert.equal(0, count(masked, '"card":"4111"'))
    local ran = here:pawl("export", id, "--mask", "vars.card")
    assert.equal("", ran.err)
    ran = here:pawl("export", "--all", "--mask", "vars.card", "--mask",
      "vars.crad", "--mask", "colour")
    assert.equal(0, ran.code)
    assert.equal("warning: --mask vars.crad masks nothing in what was exported"
      .. "\nwarning: --mask colour masks nothing in what was exported\n",
      ran.err)
    ran = here:pawl("import", "-", "--store", "masked.db", { stdin = ran.out })
    assert.equal(0, ran.code, ran.err)
    for _, words in ipairs { {}, { id, "--all" }, { id, "--masks", "x" } } do
      assert.equal(2, here:pawl("export", table.unpack(words)).code)
    end
    assert.equal(3, here:pawl("export", ("0"):rep(32)).code)
  end)

  --- Two parents that have ended with their child, whom the archive has: the
  --- children, and one of the parents.
  local function archived()
    local here = command.folder()
    here:write("child.lua", (CHILD:gsub('"1h"', '"0s"')))
    here:write("parent.lua", FLOW)
    for _ = 1, 2 do here:pawl("start", "t.parent") end
    local ran = here:pawl("worker", "parent.lua", "child.lua", "--until-idle")
    assert.equal(0, ran.code, ran.err)
    local ids = here:json("list", "--workflow", "t.parent")
    ran = here:pawl("archive", "-w", "t.child", "--yes")
    assert.equal(0, ran.code, ran.err)
    ran = here:pawl("archive", ids[2].id)
    assert.equal(0, ran.code, ran.err)
    return here, ids[1].id, ids[2].id
  end

  it("has what is archived, too", function()
    local here, id, away = archived()
    assert.equal(2, count(here:pawl("export", id, "--children").out,
      '{"is":"export"'))
    assert.equal(2, count(here:pawl("export", away, "--children").out,
      '{"is":"export"'))
    assert.equal(1, count(here:pawl("export", "-w", "t.parent").out,
      '{"is":"export"'))
    assert.equal(1, count(here:pawl("export", "-w", "t.parent",
      "--archived").out, '{"is":"export"'))
    local all = here:pawl("export", "--all")
    assert.equal(0, all.code, all.err)
    assert.equal(4, count(all.out, '{"is":"export"'))
    assert.equal(2, count(all.out, '{"is":"workflow"'))
    local ran = here:pawl("import", "-", "--store", "two.db",
      { stdin = all.out })
    assert.equal("imported 4, there before 0\n", ran.out, ran.err)
    assert.equal("completed", here:json("show", away, "--store",
      "two.db").status)
  end)

  it("leaves out what was purged but for its attributes", function()
    local here, id, away = archived()
    local ran = here:pawl("purge", away, "--keep-attributes")
    assert.equal(0, ran.code, ran.err)
    ran = here:pawl("export", "--all")
    assert.equal(0, ran.code, ran.err)
    assert.equal(1, count(ran.out, '"workflow":"t.parent","version":1,'
      .. '"status"'))
    assert.matches(id, ran.out, 1, true)
  end)

  it("says how many of the archive do not move", function()
    local here = archived()
    local ran = here:pawl("export", "--all", "--move")
    assert.equal(0, ran.code, ran.err)
    assert.equal(1, count(ran.out, '{"is":"export"'))
    assert.matches("3 archived stay here", ran.err)
    assert.matches("pawl unarchive", ran.err)
  end)

  it("says with its line what is wrong with a file", function()
    local here, id = folder()
    local lines = here:pawl("export", "--all").out
    local at = lines:find('{"is":"end"', 1, true)
    at = lines:find('"tokens":1', at, true)
    here:write("bad.jsonl", lines:sub(1, at - 1) .. '"tokens":[]'
      .. lines:sub(at + #'"tokens":1'))
    local ran = here:pawl("import", "bad.jsonl", "--store", "two.db")
    assert.equal(2, ran.code, ran.err)
    assert.matches("line %d+: `tokens` is to be an integer", ran.err)
    assert.matches("imported 1,", ran.out)
    assert.equal(2, here:pawl("import", "no.jsonl").code)
    ran = here:pawl("import", ".")
    assert.equal(2, ran.code)
    assert.matches("^pawl: usage: %.: Is a directory", ran.err)
    here:write("zero.jsonl", "{\0}\n")
    assert.equal(2, here:pawl("import", "zero.jsonl").code)
    assert.equal(0, here:pawl("show", id).code)
  end)

  it("moves a family, which goes on where it is imported", function()
    local here, id = folder()
    local ran = here:pawl("export", id, "--move")
    assert.equal(4, ran.code)
    assert.matches("has a child that goes on here", ran.err)
    assert.matches("%-%-children", ran.err)
    assert.equal(0, here:pawl("reclaim", id).code)
    ran = here:pawl("export", id, "--move", "--children", "--by", "ann",
      "--reason", "a larger machine")
    assert.equal(0, ran.code, ran.err)
    local shown = here:json("show", id)
    assert.equal("suspended", shown.status)
    assert.equal("a larger machine", shown.away.reason)
    here:write("moved.jsonl", ran.out)
    ran = here:pawl("import", "moved.jsonl", "--store", "new.db")
    assert.equal("imported 2, there before 0\n", ran.out, ran.err)
    assert.equal(0, here:pawl("worker", "--until-idle", "--store",
      "new.db").code)
    assert.equal("waiting", here:json("show", id, "--store", "new.db").status)
    ran = here:pawl("reclaim", id)
    assert.equal(0, ran.code, ran.err)
    assert.equal("waiting", here:json("show", id).status)
    ran = here:pawl("export", id, "--move", "--mask", "x")
    assert.equal(2, ran.code)
    ran = here:pawl("import", "moved.jsonl", "--copy", "--release")
    assert.equal(2, ran.code)
  end)
end)

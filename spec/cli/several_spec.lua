-- One command for several ids.
local command = require "spec.support.command"
local tmp = require "spec.support.tmp"

local NAP = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.nap", version = 1, start = "a" }
flow:timer("a", { after = "1h", next = "ask" })
flow:task("ask", { title = "Look", users = { "ann" }, next = "done" })
flow:finish "done"
return flow
]]

--- A folder, and the ids of so many instances that wait, oldest first.
local function napping(n)
  local here, ids = command.folder(), {}
  here:write("nap.lua", NAP)
  for i = 1, n do ids[i] = here:pawl("start", "t.nap").out:sub(1, 36) end
  assert.equal(0, here:pawl("worker", "nap.lua", "--until-idle").code)
  return here, ids
end

describe("several ids", function()
  after_each(tmp.cleanup)

  it("are cancelled, each by itself", function()
    local here, ids = napping(3)
    local ran = here:pawl("cancel", ids[1], ids[2]:sub(-8), ids[3],
      "--reason", "all of them")
    assert.equal(0, ran.code, ran.err)
    assert.equal(("cancelled %s\ncancelled %s\ncancelled %s\n"):format(
      table.unpack(ids)), ran.out)
    for _, id in ipairs(ids) do
      assert.equal("all of them", here:json("show", id).cancellation.reason)
    end
  end)

  it("do not keep each other: what is refused is told with its id", function()
    local here, ids = napping(3)
    here:pawl("cancel", ids[2])
    local ran = here:pawl("cancel", ids[1], "00000000", ids[2], ids[3])
    assert.equal(4, ran.code)
    assert.equal(("cancelled %s\ncancelled %s\n"):format(ids[1], ids[3]),
      ran.out)
    assert.matches("pawl: notfound: [^\n]*00000000", ran.err)
    assert.matches("pawl: already_finished: [^\n]*"
      .. ids[2]:gsub("%-", "%%-"), ran.err)
    assert.equal(3, here:pawl("suspend", "00000000", "00000001").code)
  end)

  it("are told of by each in JSON", function()
    local here, ids = napping(2)
    local done, ran = here:json("suspend", ids[1], "00000000", ids[2])
    assert.equal(3, ran.code)
    assert.same({ id = ids[1], done = true }, done[1])
    assert.equal("00000000", done[2].id)
    assert.equal("notfound", done[2].error.code)
    assert.same({ id = ids[2], done = true }, done[3])
    assert.same({ id = ids[1], done = true },
      (here:json("resume", ids[1])))
  end)

  it("are taken by every verb that changes one", function()
    local here, ids = napping(2)
    for _, words in ipairs { { "suspend" }, { "resume", "--shift" },
      { "edit", "--set", "a=1" }, { "move", "--to", "a" }, { "wake" },
      { "kill" } } do
      words[#words + 1] = ids[1]
      words[#words + 1] = ids[2]
      local ran = here:pawl(table.unpack(words))
      assert.equal(0, ran.code, words[1] .. ran.err)
      for _, id in ipairs(ids) do assert.matches(id, ran.out, 1, true) end
    end
    local ran = here:pawl("restart", "--from", "a", ids[1], ids[2])
    assert.equal(4, ran.code) -- they were killed, which is no failure
    assert.matches(ids[1], ran.err, 1, true)
    assert.matches(ids[2], ran.err, 1, true)
    assert.equal(4, here:pawl("retry", ids[1], ids[2]).code)
  end)

  it("are shown behind one another", function()
    local here, ids = napping(2)
    for _, name in ipairs { "show", "explain", "history", "tokens" } do
      local ran = here:pawl(name, ids[1], ids[2])
      assert.equal(0, ran.code, ran.err)
      assert.matches("\n\n%w", ran.out)
      assert.equal(2, #here:json(name, ids[1], ids[2]))
      assert.equal(3, here:pawl(name, ids[1], "00000000").code)
    end
    local both = here:json("show", ids[1], ids[2])
    assert.same({ ids[1], ids[2] }, { both[1].id, both[2].id })
  end)

  it("may be tasks'", function()
    local here, ids = napping(2)
    here:pawl("wake", ids[1], ids[2])
    here:pawl("worker", "nap.lua", "--until-idle")
    local tasks = here:json("task", "list")
    local ran = here:pawl("task", "claim", tasks[1].id, tasks[2].id, "--by",
      "ann")
    assert.equal(0, ran.code, ran.err)
    ran = here:pawl("task", "complete", tasks[1].id, "00000000", tasks[2].id,
      "--by", "ann")
    assert.equal(3, ran.code)
    assert.equal(0, #here:json("task", "list"))
    assert.matches("00000000", ran.err)
    assert.equal(2, #here:json("task", "show", tasks[1].id, tasks[2].id))
  end)

  it("are not gone through when the store is out of reach", function()
    local here = command.folder()
    local ran = here:pawl("cancel", "00000000", "00000001")
    assert.not_equal(0, ran.code)
    assert.equal(1, select(2, ran.err:gsub("pawl: ", "")))
  end)
end)

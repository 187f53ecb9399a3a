-- --tenant and PAWL_TENANT, of every command.
local command = require "spec.support.command"

local WAIT = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.wait", start = "w" }
flow:wait("w", { event = "go", next = "z" })
flow:finish "z"
return flow
]]

describe("a command for a tenant", function()
  it("starts, sees and signals what is that one's", function()
    local folder = command.folder()
    local function pawl(...)
      local ran = folder:pawl(...)
      assert.equal(0, ran.code, ran.err)
      return ran.out
    end
    assert.equal(0, folder:pawl("deploy", folder:write("wait.lua",
      WAIT)).code)
    local id = pawl("start", "t.wait", "--tenant", "a"):match "%S+"
    assert.equal("1", pawl("list", "--count", "--tenant", "a"):match "%d+")
    assert.equal("0", pawl("list", "--count",
      { env = { PAWL_TENANT = "b" } }):match "%d+")
    assert.equal("1", pawl("list", "--count"):match "%d+")
    pawl("worker", "--until-idle")
    local missed = folder:pawl("signal", "go")
    assert.matches("0", missed.out .. missed.err)
    assert.matches("1", pawl("signal", "go", "--tenant", "a"))
    pawl("worker", "--until-idle")
    assert.matches("completed", pawl("show", id, "--tenant", "a"))
  end)

  it("does not find another's, and says how to go on as that tenant",
    function()
      local folder = command.folder()
      folder:pawl("deploy", folder:write("wait.lua", WAIT))
      local id = folder:pawl("start", "t.wait", "--tenant", "a").out
        :match "%S+"
      for _, verb in ipairs { "show", "history", "cancel", "explain" } do
        local ran = folder:pawl(verb, id, "--tenant", "b")
        assert.matches("there is no instance", ran.err)
        assert.matches("`pawl list %-%-tenant b`", ran.err)
        assert.equal(folder:pawl(verb, id:gsub("%x%x%x%x$", "beef"),
          "--tenant", "b").code, ran.code)
      end
    end)

  it("lists workflows, without what lives of them in all", function()
    local folder = command.folder()
    folder:pawl("deploy", folder:write("wait.lua", WAIT))
    local ran = folder:pawl("workflow", "list", "--tenant", "a")
    assert.equal(0, ran.code, ran.err)
    assert.matches("\nt.wait ", ran.out)
    assert.is_nil(ran.out:find("LIVE", 1, true))
    local row = folder:json("workflow", "list", "--tenant", "a")[1]
    assert.same({ "t.wait", nil }, { row.workflow, row.live })
    assert.matches("LIVE", folder:pawl("workflow", "list").out)
    assert.equal(0, folder:json("workflow", "list")[1].live)
  end)

  it("does no work for all", function()
    local folder = command.folder()
    folder:pawl("migrate")
    for _, words in ipairs { { "worker", "--until-idle" }, { "health" },
      { "executors" }, { "stats" }, { "problems" },
      { "backup", "copy.db" }, { "restore", "pawl.db" } } do
      table.insert(words, "--tenant")
      table.insert(words, "a")
      local ran = folder:pawl(table.unpack(words))
      assert.are_not.equal(0, ran.code)
      assert.matches("tenant \"a\"'s engine does not", ran.err)
    end
    for _, store in ipairs { "pawl.db", "new.db" } do
      local ran = folder:pawl("restore", "pawl.db", "--store", store,
        "--tenant", "a")
      assert.are_not.equal(0, ran.code)
      assert.matches("engine does not " .. (store == "new.db"
        and "copy the store" or "restore the store"), ran.err)
      assert.matches("it concerns all tenants", ran.err)
    end
  end)
end)

-- What the engine says of its options, where they are flags.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local flows = require "spec.support.flows"
local tmp = require "spec.support.tmp"

local EMITS <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.emits", start = "a" }
flow:step("a", { next = "z", run = function(ctx) ctx.emit("was.done") end })
flow:finish "z"
return flow
]]

local TASK <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.task", start = "ask" }
flow:task("ask", { title = "Look", users = { "ann", "bob" }, next = "z" })
flow:finish "z"
return flow
]]

--- What was said of it, without the flags that the store needs.
local function said(ran, url)
  return (ran.err:gsub(" %-%-store " .. url:gsub("%p", "%%%0"), ""))
end

for _, backend in ipairs(backends) do
  describe("what the engine says on " .. backend.name, function()
    after_each(backend.cleanup)

    local function folder(files)
      local here, env = command.folder(), { env = {
        PAWL_STORE = backend.url() } }
      local list = {}
      for name, text in pairs(files) do
        list[#list + 1] = here:write(name .. ".lua", text)
      end
      assert.equal(0, here:pawl("deploy", list[1], list[2], env).code)
      return here, env
    end

    --- The error of a command that has none but `hint` to go on with.
    local function refused(here, env, hint, ...)
      local words = { ... }
      words[#words + 1] = env
      local ran = here:pawl(table.unpack(words))
      assert.not_equal(0, ran.code)
      assert.matches(hint, said(ran, env.env.PAWL_STORE), 1, true)
    end

    it("names flags where a change was refused", function()
      local here, env = folder { timer = flows.timer }
      local id = here:json("start", "t.timer", "--key", "k", env).id
      refused(here, env, "delete it with `--cancel`", "delete", id)
      refused(here, env, '`--on-existing` "return" gives that one', "start",
        "t.timer", "--key", "k", "--on-existing", "fail")
      refused(here, env, "option `--reuse` needs a `--key`", "start",
        "t.timer", "--reuse", "ended")
      assert.equal(0, here:pawl("cancel", id, env).code)
      refused(here, env, 'say `--reuse`: "ended"', "start", "t.timer",
        "--key", "k", "--on-existing", "fail")
      refused(here, env, "give a `--prefix` for codes", "workflow", "suspend",
        "t.nowhere")
    end)

    it("names them where one of many was", function()
      local here, env = folder { emits = EMITS }
      here:json("start", "t.emits", env)
      assert.equal(0, here:pawl("worker", "--until-idle", env).code)
      local ran = here:pawl("purge", "-w", "t.emits", "--yes", env)
      assert.matches(" hint: .*; or do it with `%-%-force`\n", ran.out)
    end)

    it("names them where a question makes no sense", function()
      local here, env = folder { timer = flows.timer }
      refused(here, env, "options `--deleted` and `--archived` exclude",
        "list", "--deleted", "--archived")
      refused(here, env, '--before: "x" is no place in an audit', "audit",
        "--before", "x")
    end)

    it("names them as tasks have them", function()
      local here, env = folder { task = TASK }
      here:json("start", "t.task", env)
      assert.equal(0, here:pawl("worker", "--until-idle", env).code)
      local id = here:json("task", "list", env)[1].id
      refused(here, env, "`--priority`, `--candidate`, `--role` or `--group`",
        "task", "escalate", id)
      refused(here, env, "`--to`, or `--candidate`, `--role` or `--group`",
        "task", "reassign", id)
      refused(here, env, "or `--unset` with names of these", "task", "edit",
        id)
      assert.equal(0, here:pawl("task", "claim", id, "--by", "ann", env).code)
      refused(here, env, "`pawl task reassign` takes it away", "task",
        "claim", id, "--by", "bob")
    end)

    it("has nothing of another tenant's task", function()
      local here, env = folder { task = TASK }
      here:json("start", "t.task", "--tenant", "a", env)
      assert.equal(0, here:pawl("worker", "--until-idle", env).code)
      local id = here:json("task", "list", env)[1].id
      for _, word in ipairs { id, id:upper(), (id:gsub("-", "")),
        (id:gsub("%x%x%x%x$", "beef")) } do
        local ran = here:pawl("task", "show", word, "--tenant", "b", env)
        assert.equal(3, ran.code)
        assert.matches("^pawl: notfound: there is no task [%x-]+\n hint: ",
          ran.err)
      end
    end)

    it("leaves members of lines, and fields of nodes, as they are", function()
      local here, env = folder { timer = flows.timer }
      here:json("start", "t.timer", "--key", "k", env)
      here:write("many.jsonl", '{"key":"k","on_existing":"fail"}\n')
      refused(here, env, '`on_existing` "return" gives that one', "start",
        "t.timer", "--many", "many.jsonl")
      here:write("bad.lua", (flows.timer:gsub('next = "done"',
        'input = "x"')))
      refused(here, env, "unknown field 'input'", "run", "bad.lua")
    end)
  end)
end

describe("what the engine says of files", function()
  after_each(tmp.cleanup)

  it("names the flag by which one is overwritten", function()
    local here = command.folder()
    assert.equal(0, here:pawl("migrate").code)
    assert.equal(0, here:pawl("backup", "copy.db").code)
    local ran = here:pawl("backup", "copy.db")
    assert.equal(4, ran.code)
    assert.matches("none is overwritten, but with `--replace`\n", ran.err, 1,
      true)
  end)
end)

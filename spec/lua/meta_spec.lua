-- lua/pawl/meta/pawl.lua, which editors read, against what is really there.
local core = require "pawl.core"
local kinds = require "pawl.kinds"
local option = require "pawl.option"
local pawl = require "pawl"
local reference = require "spec.support.reference"
local testing = require "pawl.testing"
local tmp = require "spec.support.tmp"

local META = tmp.read "lua/pawl/meta/pawl.lua"

local function names_of(pattern)
  local names = {}
  for name in META:gmatch(pattern) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function functions_of(t)
  local names = {}
  for name, value in pairs(t) do
    if type(value) == "function" and not name:find "^__" then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

--- The fields of a class, "?" and all that follows left out.
local function fields_of(class)
  local names = {}
  local text = META:match("%-%-%-@class " .. class .. "\n(.-)\n\n")
  for name in text:gmatch "@field ([%w_]+)" do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function keys_of(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- The names in a C list: from `first` to `last`, those between quotes.
local function quoted(file, first, last)
  local names, text = {}, tmp.read(file)
  local begin = assert(text:find(first, 1, true), first)
  for name in text:sub(begin, text:find(last, begin, true))
    :gmatch '"([%w_]+)"' do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

--- The members of ctx: { [name] = { kind =, when =, shape = } }.
local function members_of_ctx()
  local members = {}
  local readable = tmp.read "src/host/ctx.c"
    :match "#define READABLE%(X%)(.-)/%*"
  for name, kind in readable:gmatch "X%(([%w_]+), (%u+)%)" do
    members[name] = { kind = kind, when = "ANYTIME", shape = '""' }
  end
  for _, file in ipairs { "await", "effects", "host", "services" } do
    local list = tmp.read(("src/host/ctx_%s.c"):format(file))
      :match "\nconst pawl_ctx_member (.-){NULL}"
    for name, kind, when, shape in list:gmatch
      '{"([%w_]+)",%s+PAWL_CTX_(%u+),%s+PAWL_CTX_(%u+),%s+(.-),%s+ctx_' do
      members[name] = { kind = kind, when = when, shape = shape }
    end
  end
  return members
end

--- What a member's annotation says it is; an alias' first line for its name.
local function annotation_of(class, name)
  local text = META:match("%-%-%-@class " .. class .. "\n(.-)\n\n")
  local said = assert(text:match("@field " .. name .. "%?? ([^\n]*)"), name)
  local alias = said:match "^pawl%.(%u%w*)"
  return alias and META:match("%-%-%-@alias pawl%." .. alias
    .. "\n%-%-%-| ([^\n]*)") or said
end

describe("the annotations", function()
  it("name every function of the module, and no other", function()
    assert.same(functions_of(pawl), names_of "\nfunction pawl%.([%w_]+)%(")
  end)

  it("name every function of pawl.json", function()
    assert.same(functions_of(pawl.json), names_of "\nfunction json%.([%w_]+)%(")
  end)

  it("name every method of an engine", function()
    assert.same(functions_of(require "pawl.core".engine),
      names_of "\nfunction Engine:([%w_]+)%(")
  end)

  it("name every method of what has a word of its own", function()
    local engine <close> = assert(testing.open())
    for _, noun in ipairs { "tasks", "workflows", "outbox" } do
      local class = noun:sub(1, 1):upper() .. noun:sub(2)
      assert.same(functions_of(getmetatable(engine[noun]).__index),
        names_of("\nfunction " .. class .. ":([%w_]+)%("), noun)
    end
  end)

  it("name every member of an instance, and no other", function()
    local engine <close> = assert(testing.open())
    local flow = pawl.workflow { code = "t.meta", start = "z" }
    flow:finish("z")
    assert(engine:load(flow))
    local id = assert(engine:start "t.meta")
    local instance = pawl.json.decode(assert(engine:get(id, "json")))
    instance.archived, instance.purged = true, true -- of those that were
    assert.same(keys_of(instance), fields_of "pawl%.Instance")
  end)

  it("name every member of ctx, and no other", function()
    assert.same(keys_of(members_of_ctx()), fields_of "pawl%.Ctx")
    assert.same(quoted("src/host/ctx.c", "TOKEN_NAMES[]", ";"),
      fields_of "pawl%.Token")
  end)

  it("show the functions of ctx as functions, and nothing else", function()
    for name, member in pairs(members_of_ctx()) do
      local parameters = annotation_of("pawl%.Ctx", name):match "^fun(%b())"
      assert.equal(member.kind == "CALL", parameters ~= nil, name)
      if member.shape:find "^\"ctx" then
        assert.equal("ctx." .. name, member.shape:match '^"(.-)[%({]')
        local takes_none = member.shape:find("()", 1, true) ~= nil
        assert.equal(parameters == "()", takes_none, name)
      end
    end
  end)

  it("and the guide tell who asks the store", function()
    local asking = tmp.read "docs/workflows.md"
      :match "What asks the store %((.-)%) is refused"
    for name, member in pairs(members_of_ctx()) do
      if member.when == "ASKS" then
        assert.truthy(asking:find("ctx." .. name, 1, true), name)
      end
    end
  end)

  it("say which functions of ctx are for a step alone", function()
    local rule = META:match "Only `run` of a step and `undo` may (.-)%-%-%-@"
    for name, member in pairs(members_of_ctx()) do
      if member.when == "ACTS" then assert.matches(name, rule) end
    end
  end)

  it("name every option of a child, and no other", function()
    assert.same(keys_of(option.child(core.options().start)),
      fields_of "pawl%.ChildOptions")
  end)

  it("name every field of a kind of node, and what is needed", function()
    for _, name in ipairs(kinds.names) do
      local kind = kinds[name]
      local said, needed = {}, {}
      for _, field in ipairs(reference.fields("lua/pawl/kinds/" .. name
        .. ".lua", reference.class(name))) do
        said[field.name] = true
        if field.is_needed then needed[#needed + 1] = field.name end
        assert.not_equal("", field.text, name .. "." .. field.name)
      end
      assert.same(keys_of(kind.fields), keys_of(said), name)
      local needs = {}
      for i, need in ipairs(kind.needs or {}) do needs[i] = need[1] end
      assert.same(needs, needed, name)
    end
  end)

  it("name every option of a workflow, and no other", function()
    local text = tmp.read "lua/pawl/workflow.lua"
    local said, there = {}, {}
    for _, field in ipairs(reference.fields("lua/pawl/workflow.lua",
      "pawl.WorkflowOptions")) do
      said[field.name] = true
      assert.not_equal("", field.text .. field.type, field.name)
    end
    for name in text:match "\nlocal WORKFLOW = (%b{})":gmatch
      "\n  ([%w_]+) =" do
      there[name] = true
    end
    assert.same(keys_of(there), keys_of(said))
  end)

  it("of kinds of nodes stand in files that are listed", function()
    local files = {}
    for path in assert(io.popen "ls lua/pawl/kinds"):lines() do
      files[#files + 1] = path:match "^(.*)%.lua$"
    end
    local names = table.move(kinds.names, 1, #kinds.names, 1, {})
    table.sort(names)
    assert.same(files, names)
  end)

  it("name every kind of node as a method of a workflow", function()
    for _, name in ipairs(kinds.names) do
      local text = tmp.read("lua/pawl/kinds/" .. name .. ".lua")
      assert.matches(("@class pawl.Workflow\n%%-%%-%%-@field %s fun%%(self: "
        .. "pawl.Workflow, name: string, options%%??: %s%%): pawl.Workflow\n")
        :format(name, reference.class(name)), text)
    end
  end)

  it("name every outcome that a trace tells", function()
    local text = tmp.read "src/pawl.h":match "const char %*outcome;(.-)%*/"
    local told = META:match "@field outcome%? ([^\n]+)"
    local expected, names = {}, {}
    for name in text:gmatch '"(%w+)"' do expected[#expected + 1] = name end
    for name in told:gmatch '"(%w+)"' do names[#names + 1] = name end
    assert.is_true(#expected > 5)
    assert.same(expected, names)
  end)

  it("are Lua", function() assert(loadfile "lua/pawl/meta/pawl.lua") end)

  it("do not claim a field of the module that is not there", function()
    for name in META:match "%-%-%-@class pawl\n(.-)\nlocal pawl"
      :gmatch "@field ([%w_]+)" do
      assert.is_not_nil(pawl[name], name)
    end
  end)
end)

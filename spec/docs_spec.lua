--- docs/workflows.md: every workflow in it is drawn and run as it says.
local command = require "spec.support.command"
local nodes = require "pawl.kinds"
local page = require "spec.support.reference_page"
local pawl = require "pawl"
local reference = require "spec.support.reference"
local testing = require "pawl.testing"
local tmp = require "spec.support.tmp"

--- The fenced blocks of the page, in order: { language =, text = }.
local function blocks(path)
  local found = {}
  for language, text in tmp.read(path):gmatch "\n```(%l+)\n(.-)```" do
    found[#found + 1] = { language = language, text = text }
  end
  return found
end

local function is_workflow(block)
  return block.language == "lua" and block.text:find "pawl%.workflow"
end

--- What the page says is printed, line by line, behind "--> ".
local function promised(text)
  local lines = {}
  for line in text:gmatch "%-%-> ([^\n]*)" do lines[#lines + 1] = line end
  return lines
end

local function run(engine, clock, text)
  local printed = {}
  local env = setmetatable({
    engine = engine, clock = clock, pawl = pawl,
    print = function(...)
      local words = table.pack(...)
      for i = 1, words.n do words[i] = tostring(words[i]) end
      printed[#printed + 1] = table.concat(words, "\t")
    end,
  }, { __index = _G })
  assert(load(text, "=docs/workflows.md", "t", env))()
  return printed
end

local PAGE = blocks "docs/workflows.md"

describe("docs/workflows.md", function()
  local kinds = {}

  for i, block in ipairs(PAGE) do
    if is_workflow(block) then
      local code = block.text:match 'code = "([%w._]+)"'
      it("draws " .. code .. " as `pawl graph` does", function()
        assert.equal("mermaid", PAGE[i + 1].language)
        local here = command.folder()
        here:write("flow.lua", block.text)
        local ran = here:pawl("graph", "flow.lua")
        assert.equal(0, ran.code, ran.err)
        assert.equal(PAGE[i + 1].text, ran.out)
        for _, node in ipairs(here:json("graph", "flow.lua").nodes) do
          kinds[node.kind] = true
        end
      end)
    end
  end

  it("does what it says", function()
    local engine <close>, clock = testing.open()
    for i, block in ipairs(PAGE) do
      if is_workflow(block) then
        assert(engine:load(tmp.file(("piece%d.lua"):format(i), block.text)))
      elseif block.language == "lua" then
        assert.same(promised(block.text), run(engine, clock, block.text))
      end
    end
  end)

  it("has every kind of node", function()
    for _, kind in ipairs(nodes.names) do assert.is_true(kinds[kind], kind) end
  end)

  it("tells every field of each, as it is told to editors", function()
    local written = reference.written()
    for _, kind in ipairs(nodes.names) do
      assert.equal(reference.of(kind), written[kind],
        "lua5.4 spec/support/reference.lua writes them")
    end
  end)
end)

--- Workflows are loaded, what prints is to print what stands behind it.
for _, other in ipairs { "temporal", "camunda", "dbos" } do
  local path = ("docs/from-%s.md"):format(other)
  describe(path, function()
    it("does what it says", function()
      local engine <close>, clock = testing.open()
      for i, block in ipairs(blocks(path)) do
        if is_workflow(block) then
          assert(engine:load(tmp.file(("piece%d.lua"):format(i), block.text)))
        elseif block.language == "lua" then
          assert.same(promised(block.text), run(engine, clock, block.text))
        end
      end
    end)

    it("has ten pieces that run", function()
      local n = 0
      for piece in (tmp.read(path):gsub("\n## ", "\0")):gmatch "\0[^\0]*" do
        local runs = piece:find("pawl.workflow {", 1, true)
          and piece:find("-->", 1, true)
        n = n + (runs and 1 or 0)
      end
      assert.equal(10, n)
    end)
  end)
end

--- What busted gives to a spec, run at once.
local function as_spec()
  local function now(_, fn) fn() end
  return setmetatable({ describe = now, it = now, assert = assert },
    { __index = _G })
end

--- Runs what LuaUnit would of a class of tests, as it would; how many it has.
local function run_class(class)
  local n = 0
  for name, fn in pairs(class or {}) do
    if name:find "^test" then
      n = n + 1
      class:setUp()
      fn(class)
      class:tearDown()
    end
  end
  return n
end

describe("docs/testing.md", function()
  local files = {}

  it("has a workflow that is right", function()
    for _, block in ipairs(blocks "docs/testing.md") do
      local name = block.text:match "^%-%- ([%w_]+%.lua)\n"
      if name then files[name] = tmp.file(name, block.text) end
    end
    assert.truthy(files["order.lua"])
    local engine <close> = assert(testing.open())
    for _, path in pairs(files) do assert(engine:load(path)) end
  end)

  local n = 0
  for _, block in ipairs(blocks "docs/testing.md") do
    if block.language == "lua" and block.text:find "%f[%w]test%." then
      n = n + 1
      it(("does what piece %d says"):format(n), function()
        local text = block.text:gsub('"([%w_]+%.lua)"', function(name)
          return ("%q"):format(files[name])
        end)
        local class = assert(load(text, "=docs/testing.md", "t", as_spec()))()
        assert.equal(text:find "\nreturn Test" and 1 or 0, run_class(class))
      end)
    end
  end
end)

describe("what docs/testing.md shows of `pawl spec`", function()
  it("is what is written", function()
    local file, made, shown
    for _, block in ipairs(blocks "docs/testing.md") do
      if block.text:find "^%-%- order%.lua\n" then
        file = tmp.file("order.lua", block.text)
      elseif block.text:find "test%.spec%(" then
        made = block.text
      elseif block.text:find "engine:replay%(" then
        shown = block.text
      end
    end
    local text = made:gsub('{ "order.lua" }', ("{ %q }"):format(file))
    text = assert(load(text .. "\nreturn text", "=docs", "t", as_spec()))()
    assert.equal(shown, text:match "\n(local test = .*)$")
  end)
end)

describe("docs/reference.md", function()
  it("tells each option, member, method and flag as the sources do",
    function()
      if os.getenv "PAWL_WRITE" then
        local file <close> = assert(io.open(page.path, "w"))
        file:write(page.text())
      end
      assert.is_true(tmp.read(page.path) == page.text(),
        "make it anew: PAWL_WRITE=1 ./dev test spec/docs_spec.lua")
    end)

  it("has each class that an option, an argument or ctx mentions", function()
    local text, known = page.text(), select(2, page.classes())
    for name in pairs(page.said()) do
      assert.is_true(page.places[name]
        or text:find("\n### " .. known[name].head .. "\n", 1, true) ~= nil,
        name .. " has no place")
    end
    assert.is_true(page.said()["pawl.ChildOptions"])
    assert.is_true(page.said()["pawl.SignalStart"])
  end)

  it("has a line for each field of these, and each function", function()
    local _, known = page.classes()
    local without = {}
    for name in pairs(page.said()) do
      for _, field in ipairs(known[name].fields) do
        if field.text == "" then
          without[#without + 1] = name .. "." .. field.name
        end
      end
    end
    local order, by = page.functions()
    for _, object in ipairs(order) do
      for _, one in ipairs(by[object]) do
        if one.words == "" then without[#without + 1] = one.call end
      end
    end
    assert.same({}, without)
  end)

  it("has what is said within an argument", function()
    local text = page.text()
    for _, line in ipairs { "`options`: `{ timeout?: number\\|string }`",
      "`options`: `{ repair?: boolean }`", "`options`: `{ by?: string }`",
      "`options`: `{ all?: boolean }`" } do
      assert.truthy(text:find(line, 1, true), line)
    end
  end)
end)

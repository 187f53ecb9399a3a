-- docs/embedding.md: every program in it is compiled as C and as C++, with all
-- warnings, and prints what the page says.
local build = require "spec.support.build"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local WARNINGS = { "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
  "-Wmissing-field-initializers", "-Werror" }

--- The programs of the page, each with what it prints.
local function programs()
  local found = {}
  for code, printed in tmp.read "docs/embedding.md":gmatch
    "\n```c\n(.-)```\n\n```text\n(.-)```" do
    found[#found + 1] = { code = code, printed = printed }
  end
  return found
end

local function has(compiler)
  return os.execute("command -v " .. compiler .. " >/dev/null")
end

local function compiled(compiler, standard, suffix, code)
  local made = tmp.path "embedding"
  local words = { compiler, "-std=" .. standard, "-Isrc", "-o", made }
  table.move(WARNINGS, 1, #WARNINGS, #words + 1, words)
  if build.dir:find "sanitize" then
    words[#words + 1] = "-fsanitize=address,undefined"
  end
  words[#words + 1] = tmp.file("main." .. suffix, code)
  words[#words + 1] = build.dir .. "/libpawl.so"
  if code:find "<sqlite3.h>" then words[#words + 1] = "-lsqlite3" end
  if code:find "<lua.h>" then
    local flags = shell.output { "pkg-config", "--cflags", "--libs", "lua5.4" }
    for flag in flags:gsub("%-I", "-isystem"):gmatch "%S+" do
      words[#words + 1] = flag
    end
  end
  words[#words + 1] = "-Wl,-rpath," .. build.dir
  shell.output(words)
  return made
end

local COMPILERS = {
  { "gcc", "c99", "c" }, { "g++", "c++17", "cc" },
  { "clang", "c11", "c" }, { "clang++", "c++17", "cc" },
}

describe("docs/embedding.md", function()
  local list = programs()

  it("has programs", function() assert.is_true(#list > 0) end)

  for _, one in ipairs(COMPILERS) do
    local compiler, standard, suffix = table.unpack(one)
    if has(compiler) then
      for i, program in ipairs(list) do
        it(("is right: program %d by %s"):format(i, compiler), function()
          local made = compiled(compiler, standard, suffix, program.code)
          -- in a folder of its own: it makes files
          assert.equal(program.printed, shell.output {
            "env", "-C", tmp.dir(), made })
        end)
      end
    end
  end
end)

-- src/pawl.abi: where each member of the structs of pawl.h stands, and the
-- number of each code, as a compiler of 64 bits has them. A program that was
-- built with an older header reads there.
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local FILE <const> = "src/pawl.abi"
local HEADER = tmp.read "src/pawl.h":gsub("/%*.-%*/", "")

--- The members of a struct's text, in their order.
local function members_of(body)
  local names = {}
  for declaration in body:gmatch "([^;]+);" do
    for part in declaration:gmatch "[^,]+" do
      names[#names + 1] = part:gsub("%b[]", ""):match "([%w_]+)%s*$"
    end
  end
  return names
end

--- { { name =, members = { ... } }, ... }
local function structs_of(header)
  local list = {}
  for name, body in header:gmatch "typedef struct ([%w_]+) (%b{})" do
    list[#list + 1] = { name = name, members = members_of(body:sub(2, -2)) }
  end
  return list
end

--- What a compiler makes of them, a line each.
local function table_of(header_file, structs)
  local lines = { '#include <stddef.h>', '#include <stdio.h>',
    ('#include "%s"'):format(header_file), "int main(void) {" }
  local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  for _, struct in ipairs(structs) do
    add('printf("%s %%zu\\n", sizeof(%s));', struct.name, struct.name)
    for _, member in ipairs(struct.members) do
      add('printf("  %s %%zu %%zu\\n", offsetof(%s, %s), '
        .. "sizeof(((%s *)0)->%s));", member, struct.name, member,
        struct.name, member)
    end
  end
  add "#define LINE(name, text) printf(\"%%s %%d\\n\", text, (int)PAWL_##name);"
  add "PAWL_CODES(LINE)"
  add "return 0; }"
  local made = tmp.path "abi"
  local source = tmp.file("abi.c", table.concat(lines, "\n") .. "\n")
  shell.output { "gcc", "-std=c11", "-Wall", "-Werror", "-o", made, source }
  return shell.output { made }
end

local HERE = os.getenv "PWD" .. "/src/pawl.h"

if string.packsize "T" == 8 then
  describe("the structs of pawl.h", function()
    local structs = structs_of(HEADER)

    setup(function()
      if not os.getenv "PAWL_WRITE" then return end
      local file <close> = assert(io.open(FILE, "w"))
      file:write(table_of(HERE, structs))
    end)

    it("are as they are written down", function()
      assert.is_true(#structs >= 10)
      assert.equal(tmp.read(FILE), table_of(HERE, structs), "if nothing was "
        .. "released since: PAWL_WRITE=1 ./dev test spec/meta/abi_spec.lua")
    end)

    it("would be seen to move", function()
      local text = tmp.read "src/pawl.h"
      local moved = text:gsub("void %*alloc_ud;", "int32_t odd; %0", 1)
      assert.not_equal(text, moved)
      assert.not_equal(tmp.read(FILE), table_of(tmp.file("pawl.h", moved),
        structs))
    end)

    --- What an older program has there is anything, and would be read as a
    --- member that is added later.
    it("end with their last member", function()
      local size, ends = {}, {}
      local name
      for line in tmp.read(FILE):gmatch "[^\n]+" do
        local at, bytes = line:match "^  [%w_]+ (%d+) (%d+)$"
        if at then
          ends[name] = at + bytes
        else
          local struct, whole = line:match "^([%w_]+) (%d+)$"
          name = struct
          size[struct] = tonumber(whole)
        end
      end
      assert.is_true(#structs >= 10)
      for _, struct in ipairs(structs) do
        assert.equal(size[struct.name], ends[struct.name], struct.name)
      end
    end)

    it("that pawl fills in have room to grow", function()
      for _, struct in ipairs(structs) do
        local last = struct.members[#struct.members]
        local first = struct.members[1]
        -- a cursor is made by zeros, and walks by itself
        assert(last == "reserved" or first == "size"
          or struct.name == "pawl_cursor", struct.name)
      end
    end)
  end)
end

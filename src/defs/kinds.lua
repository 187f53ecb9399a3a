--- Makes C tables of the kinds of nodes (see kinds.h):
---
---   lua5.4 src/defs/kinds.lua OUT_DIR
---
--- in the root of the source tree. OUT_DIR/pawl_kinds.h and pawl_kinds.c.
package.path = "lua/?.lua"
local kinds = require "pawl.kinds"
local shape = require "pawl.shape"

local ways = {
  [shape.single_next] = "SINGLE", [shape.next] = "ANY",
  [shape.named_next] = "NAMED", [shape.branches] = "BRANCHES",
}

local function text(value)
  return value and '"' .. value:gsub('[\\"]', "\\%0") .. '"' or "NULL"
end

local function needs(list)
  local out = {}
  for i, need in ipairs(list) do
    out[i] = ("{%s, %s}"):format(text(need[1]), text(need[2]))
  end
  return ("(const pawl_need[]){%s}"):format(table.concat(out, ", "))
end

local function needed(kind)
  local list = { table.unpack(kind.needs or {}) }
  -- the builder has seen to it
  if kind.follows then list[#list + 1] = { "next", 'next = "the_next_node"' } end
  list[#list + 1] = {}
  return needs(list)
end

local function either(kind)
  if not kind.either then return "NULL" end
  local one, other, how, both = table.unpack(kind.either)
  return needs { { one, how }, { other, both or "keep one of them" } }
end

local function transitions(list)
  if not list then return "NULL" end
  local out = {}
  for i, name in ipairs(list) do out[i] = text(name) end
  return ("(const char *const[]){%s, NULL}"):format(table.concat(out, ", "))
end

local function row(name)
  local kind = kinds[name]
  return ([[
    [PAWL_KIND_%s] = {.name = %s,
        .ways = PAWL_WAYS_%s,
        .routes = %d,
        .receives = %d,
        .waits_for = %s,
        .needs = %s,
        .either = %s,
        .transitions = %s,
        .others = %s},
]]):format(name:upper(), text(name), ways[kind.fields.next] or "NONE",
    kind.routes and 1 or 0, kind.receives and 1 or 0, text(kind.waits_for),
    needed(kind), either(kind), transitions(kind.transitions),
    transitions(kind.other_transitions))
end

--- Leaves a file alone that is the same already: nearly all of src is built
--- again for it.
local function write(path, ...)
  local made = "/* Made by src/defs/kinds.lua; do not edit. */\n"
    .. table.concat { ... }
  local old <close> = io.open(path)
  if old and old:read "a" == made then return end
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(made))
end

local function main(out)
  local list, rows = {}, {}
  for i, name in ipairs(kinds.names) do
    list[i] = (" X(%s, %s)"):format(name:upper(), name)
    rows[i] = row(name)
  end
  write(out .. "/pawl_kinds.h",
    "#define PAWL_KINDS(X)", table.concat(list), "\n",
    "#define PAWL_KINDS_TEXT ", text(table.concat(kinds.names, ", ")), "\n")
  write(out .. "/pawl_kinds.c",
    '#include <stddef.h>\n\n#include "defs/kinds.h"\n\n',
    "const pawl_kind_shape pawl_kind_shapes[PAWL_NKINDS] = {\n",
    table.concat(rows), "};\n")
end

main(...)

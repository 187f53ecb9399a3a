--- What workflow files may use, for luacheck. In .luacheckrc:
---
---     stds.pawl_limited = dofile "/usr/share/lua/5.4/pawl/meta/luacheck.lua"
---     files["mods"] = { std = "pawl_limited" }
---
--- These are the globals of a workflow that runs with limits, which are made in
--- src/host/limited.c; a trusted one has all of Lua: std = "lua54". Plain Lua
--- 5.1, which luacheck may be run by.

--- Fields of a library, which cannot be changed.
local function only(...)
  local fields = {}
  for _, name in ipairs { ... } do fields[name] = {} end
  return { fields = fields }
end

return {
  read_globals = {
    "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall",
    "print", "rawequal", "rawget", "rawlen", "rawset", "require", "select",
    "setmetatable", "tonumber", "tostring", "type", "xpcall", "_VERSION",
    coroutine = only("close", "create", "isyieldable", "resume", "running",
      "status", "wrap", "yield"),
    math = only("abs", "acos", "asin", "atan", "ceil", "cos", "deg", "exp",
      "floor", "fmod", "huge", "log", "max", "maxinteger", "min", "mininteger",
      "modf", "pi", "rad", "random", "randomseed", "sin", "sqrt", "tan",
      "tointeger", "type", "ult"),
    os = only("clock", "date", "difftime", "time"),
    string = only("byte", "char", "find", "format", "gmatch", "gsub", "len",
      "lower", "match", "rep", "reverse", "sub", "upper"),
    table = only("concat", "insert", "move", "pack", "remove", "sort",
      "unpack"),
    utf8 = only("char", "charpattern", "codepoint", "codes", "len", "offset"),
  },
}

--- The rooms of src, and who may call whom: what layers_spec holds the sources
--- to, and architecture_spec the page that tells of it.
local function set(...)
  local names = {}
  for _, list in ipairs { ... } do
    for _, name in ipairs(list) do names[name] = true end
  end
  return names
end

-- All of the engine's rooms stand above these.
local LOW = { "base", "value", "defs", "rules", "store" }

-- A room may call itself and those named; what a room may call, it may
-- include.
return {
  base = set {},
  value = set { "base" },
  defs = set { "base", "value" },
  rules = set { "base", "value", "defs" },
  store = set { "base", "value" },
  host = set { "base", "value", "defs" },
  ["engine/common"] = set(LOW),
  ["engine/versions"] = set(LOW, { "engine/common", "host" }),
  ["engine/ask"] = set(LOW, { "engine/common", "engine/versions" }),
  ["engine/act"] = set(LOW, { "engine/common", "engine/versions" }),
  ["engine/enter"] = set(LOW, { "engine/common", "engine/versions" }),
  ["engine/work"] = set(LOW, { "engine/common", "engine/versions",
                               "engine/enter", "host" }),
  engine = set(LOW, { "engine/common", "engine/versions", "engine/ask",
                      "engine/act", "engine/enter", "engine/work", "host" }),
  ["pawl.c"] = set(LOW, { "engine/common", "engine/versions", "engine/ask",
                          "engine/act", "engine/enter", "engine", "host" }),
  bind = set { "base", "value", "host", "pawl.c" },
  ["main.c"] = set { "base", "bind", "host", "pawl.c" },
}


--- What is done by a graph, or by a function of it that is no step's `run`: the
--- text of a file behind its head, what is said, and the status that follows.
--- `poke`: the event that it waits for comes.
local LOOP <const> = "function() while true do end end"
local CAUGHT <const> = [[function()
  while true do pcall(function() while true do end end) end
end]]

local function flow(what, body, said, options)
  options = options or {}
  return { what, body, said, status = options.status or "failed",
    poke = options.poke }
end

return {
  flow("a `match` without end", ([[
    flow:wait("a", { event = "poke", match = %s, next = "z" })
  ]]):format(LOOP), "instructions", { poke = true }),
  flow("a `match` that catches", ([[
    flow:wait("a", { event = "poke", match = %s, next = "z" })
  ]]):format(CAUGHT), "instructions", { poke = true }),
  flow("a `match` that hoards", [[
    flow:wait("a", { event = "poke", next = "z", match = function()
      local t = {}
      while true do t[#t + 1] = ("x"):rep(1 << 16) .. #t end
    end })]], "", { poke = true }),
  flow("a `key` without end", ([[
    flow:wait("a", { event = "poke", key = %s, next = "z" })
  ]]):format(LOOP), "instructions"),
  flow("a `choose` without end", ([[
    flow:choice("a", { choose = %s, next = { y = "y", z = "z" } })
    flow:finish "y"
    flow:finish "z"
  ]]):format(LOOP), "instructions"),
  flow("an `items` without end", ([[
    flow:each("a", { items = %s, branch = "b", next = "z" })
    flow:step("b", { run = function() end, next = "a" })
  ]]):format(LOOP), "instructions"),
  flow("items without number", [[
    flow:each("a", { branch = "b", next = "z", items = function()
      local t = {}
      for i = 1, 100000 do t[i] = i end
      return t
    end })
    flow:step("b", { run = function() end, next = "a" })
  ]], "items"),
  flow("tokens without number", [[
    local function many()
      local t = {}
      for i = 1, 100 do t[i] = i end
      return t
    end
    flow:each("a", { items = many, branch = "b", next = "z" })
    flow:each("b", { items = many, branch = "c", next = "a" })
    flow:each("c", { items = many, branch = "d", next = "b" })
    flow:timer("d", { after = 60, next = "c" })
  ]], "tokens"),
  flow("an `at` without end", ([[
    flow:timer("a", { at = %s, next = "z" })
  ]]):format(LOOP), "instructions"),
  flow("an `undo` without end", ([[
    flow:step("a", { run = function() end, undo = %s, next = "b" })
    flow:step("b", { retry = { max = 1 }, run = function() error "b" end,
      next = "z" })
  ]]):format(LOOP), "b"),
  flow("an `output` without end", ([[
    flow:finish("a", { output = %s })
  ]]):format(LOOP), "instructions"),
  flow("steps without end", [[
    flow:step("a", { run = function() return "again" end,
      next = { again = "a", out = "z" } })
  ]], "in a row", { status = "suspended" }),
  flow("failures that lead to one another", [[
    flow:step("a", { retry = { max = 1 }, run = function() error "a" end,
      on_error = { ["*"] = "b" }, next = "z" })
    flow:step("b", { retry = { max = 1 }, run = function() error "b" end,
      on_error = { ["*"] = "a" }, next = "z" })
  ]], "in a row", { status = "suspended" }),
}

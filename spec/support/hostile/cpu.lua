--- What never ends, or catches what would end it.
return {
  { "a loop", "while true do end", "instructions" },
  { "a jump back", "::top:: goto top", "instructions" },
  { "a count to the last integer", "for _ = 1, math.maxinteger do end",
    "instructions" },
  { "a loop in a coroutine",
    "coroutine.wrap(function() while true do end end)()", "instructions" },
  { "coroutines in coroutines", [[
    local function deeper(n)
      if n == 0 then while true do end end
      coroutine.wrap(deeper)(n - 1)
    end
    deeper(20)]], "instructions" },
  { "a coroutine for each few instructions", [[
    while true do
      coroutine.wrap(function() for _ = 1, 90 do end end)()
    end]], "instructions" },
  { "pcall around a loop", [[
    while true do pcall(function() while true do end end) end]],
    "instructions" },
  { "pcall given itself", "while true do pcall(pcall, error) end",
    "instructions" },
  { "an error handler that loops", [[
    while true do
      xpcall(function() while true do end end,
        function() while true do end end)
    end]], "instructions" },
  { "an error handler of an error of its own", [[
    xpcall(error, function() while true do end end)]], "instructions" },
  { "a coroutine that is resumed again", [[
    while true do
      local co = coroutine.create(function() while true do end end)
      coroutine.resume(co)
      coroutine.close(co)
    end]], "instructions" },
  { "a variable that loops while it is closed", [[
    local guard <close> = setmetatable({}, { __close = function()
      while true do end
    end })
    error "out"]], "instructions" },
  { "a closing variable in a coroutine that is closed", [[
    local co = coroutine.create(function()
      local guard <close> = setmetatable({}, { __close = function()
        while true do end
      end })
      coroutine.yield()
    end)
    coroutine.resume(co)
    coroutine.close(co)]], "instructions" },
  { "__index", [[
    local t = setmetatable({}, { __index = function(self, k)
      while true do end
    end })
    return t.x]], "instructions" },
  { "an error whose fields loop", [[
    error(setmetatable({}, { __index = function() while true do end end }))]],
    "instructions" },
  { "an error whose text loops", [[
    error(setmetatable({}, { __tostring = function() while true do end end
      }))]], "instructions" },
  { "__lt in a sort", [[
    local t, mt = {}, { __lt = function() while true do end end }
    for i = 1, 9 do t[i] = setmetatable({}, mt) end
    table.sort(t)]], "instructions" },
  { "a comparator", [[
    table.sort({ 3, 1, 2 }, function() while true do end end)]],
    "instructions" },
  { "a comparator that catches", [[
    table.sort({ 3, 1, 2 }, function()
      while true do pcall(function() while true do end end) end
    end)]], "instructions" },
  { "a replacement that loops",
    "('x'):gsub('x', function() while true do end end)", "instructions" },
  { "find goes back and forth",
    "('a'):rep(3000):find '.-.-.-.-b'", "instructions" },
  { "match goes back and forth",
    "('a'):rep(3000):match '(.*).*.*.*b'", "instructions" },
  { "gmatch goes back and forth",
    "for _ in ('a'):rep(3000):gmatch '.-.-.-.-b' do end", "instructions" },
  { "gsub goes back and forth",
    "('a'):rep(3000):gsub('.-.-.-.-b', '')", "instructions" },
  { "a pattern of a balance without end",
    "local s = ('('):rep(1000000) for i = 1, 1000000 do s:find('%b()', i) end",
    "instructions" },
  { "a search for what nearly is there", [[
    local s, what = ('a'):rep(4000000), ('a'):rep(2000000) .. 'b'
    s:find(what, 1, true)]], "instructions" },
  { "large texts turned round", [[
    local s = ('x'):rep(4000000)
    while true do s:reverse() end]], "instructions" },
  { "large texts joined", [[
    local s = ('x'):rep(2000000)
    while true do local _ = s .. 'y' end]], "instructions" },
  { "a length that is none", [[
    table.sort(setmetatable({}, { __len = function() return 1 << 30 end }))]],
    "instructions" },
  { "an insert into a length that is none", [[
    table.insert(setmetatable({}, { __len = function() return 1 << 60 end }),
      1, 1)]], "instructions" },
  { "a removal from a length that is none", [[
    table.remove(setmetatable({}, { __len = function() return 1 << 60 end }),
      1)]], "instructions" },
  { "a move of everything",
    "table.move({}, 1, math.maxinteger - 1, 2)", "instructions" },
  { "a join without end", [[
    table.concat(setmetatable({}, { __index = function() return "" end }), "",
      1, math.maxinteger)]], "instructions" },
  { "an empty text very often",
    "while true do (''):rep(math.maxinteger) end", "instructions" },
  { "utf8 again and again", [[
    local s = ('x'):rep(4000000)
    while true do utf8.len(s) end]], "instructions" },
  { "heartbeats", "while true do ctx.heartbeat() end", "instructions" },
  { "questions", "while true do ctx.cancelled() end", "instructions" },
}

--- What has crashed one Lua or another.
return {
  { "calls within calls", "local function f() f() return 1 end f()", "" },
  { "pcall within pcall",
    "local function f() return pcall(f) end f() error 'done'", "" },
  { "a replacement within a replacement", [[
    local function f() return (('x'):gsub('x', f)) end
    f()]], "" },
  { "metamethods within metamethods", [[
    local t = setmetatable({}, {})
    getmetatable(t).__index = function(self, k) return self[k .. 'x'] end
    return t.x]], "" },
  { "closing that closes that closes", [[
    local co
    for _ = 1, 2000 do
      local inner = co
      co = coroutine.create(function()
        local guard <close> = setmetatable({}, { __close = function()
          if inner then coroutine.close(inner) end
        end })
        coroutine.yield()
      end)
      coroutine.resume(co)
    end
    coroutine.close(co)
    error "closed"]], "depth" },
  { "wrapped coroutines within one another", [[
    local function f() return coroutine.wrap(f)() end
    f()]], "" },
  { "a weak table while memory is short", [[
    local t = setmetatable({}, setmetatable({ __mode = 'k' },
      { __mode = 'v' }))
    while true do t[{}] = setmetatable({}, { __mode = 'v' }) end]], "" },
  { "a pattern of many parts",
    "('x'):find(('('):rep(40) .. (')'):rep(40))", "too many captures" },
  { "a pattern that is deep", "('x'):rep(999):find(('x?'):rep(999))", "" },
}

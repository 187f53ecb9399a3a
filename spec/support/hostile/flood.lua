--- What fills the store, or the log.
return {
  { "a log", "for i = 1, 1e6 do ctx.log('info', 'line', { i = i }) end",
    "effects" },
  { "a log that is printed", "for i = 1, 1e6 do print(i) end", "effects" },
  { "events", "for i = 1, 1e6 do ctx.emit('x.y', { i = i }) end", "effects" },
  { "events that are caught",
    "while true do pcall(ctx.emit, 'x.y', {}) end", "effects" },
  { "signals", "for i = 1, 1e6 do ctx.signal { name = 'hostile.y' } end",
    "effects" },
  { "signals that are caught",
    "while true do pcall(ctx.signal, { name = 'hostile.y' }) end",
    "effects" },
  { "large signals", [[
    local s = ('x'):rep(500000)
    while true do ctx.signal { name = 'hostile.y', data = s } end]],
    "instructions" },
  { "notes", "for i = 1, 1e6 do ctx.note('note ' .. i) end", "effects" },
  { "attributes", "for i = 1, 1e6 do ctx.attrs['k' .. i] = i end",
    "effects" },
  { "large events", [[
    local s = ('x'):rep(500000)
    while true do ctx.emit('x.y', s) end]], "instructions" },
}

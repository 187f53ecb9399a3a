-- Asks a slow HTTP service and holds up nobody meanwhile: the handler waits by
-- ctx.await while others run, in one process. Needs LuaSocket (Debian:
-- lua-socket; LuaRocks: luasocket).
--
--   pawl run examples/quotes.lua --input '{"url":"http://127.0.0.1:8080/"}'
--   pawl worker examples/quotes.lua --concurrency 200
local http = require "socket.http"
local ltn12 = require "ltn12"
local pawl = require "pawl"
local socket = require "socket"

--- What socket.http makes its connections with: a socket that never blocks,
--- but lets the engine wait for it. (A host's name is still looked up by a
--- call that blocks: give an address, or keep a resolver near.)
local function waiting_socket(ctx, patience)
  local sock = assert(socket.tcp())
  sock:settimeout(0)
  local self = {}

  local function wait(events)
    return ctx.await { fd = sock:getfd(), events = events, timeout = patience }
  end

  function self.settimeout(_) return 1 end -- ctx.await's counts

  function self.connect(_, host, port)
    local ok, why = sock:connect(host, port)
    if ok then return ok end
    if why ~= "timeout" then return nil, why end
    if not wait "w" then return nil, "timeout" end
    ok, why = sock:connect(host, port)
    return ok or why == "already connected" or nil, why
  end

  function self.send(_, data, from, to)
    local at, why, sent = sock:send(data, from, to)
    while not at and why == "timeout" and wait "w" do
      at, why, sent = sock:send(data, sent + 1, to)
    end
    return at, why, sent
  end

  function self.receive(_, pattern, prefix)
    local data, why, part = sock:receive(pattern, prefix)
    while not data and why == "timeout" and wait "r" do
      data, why, part = sock:receive(pattern, part)
    end
    return data, why, part
  end

  function self.close(_) return sock:close() end

  return self
end

local flow = pawl.workflow { code = "example.quotes", start = "ask" }

flow:step("ask", {
  run = function(ctx)
    local body = {}
    local ok, status = http.request {
      url = ctx.input.url,
      headers = { ["idempotency-key"] = ctx.idempotency_key() },
      sink = ltn12.sink.table(body),
      create = function() return waiting_socket(ctx, 20) end,
    }
    if not ok then error { code = "no_answer", message = status } end
    if status ~= 200 then
      error { code = "refused", message = ("it said %d"):format(status) }
    end
    ctx.vars.quote = table.concat(body)
  end,
  timeout = "1m",
  retry = { max = 3, base = "2s" },
  next = "done",
})

flow:finish("done", {
  output = function(ctx) return { quote = ctx.vars.quote } end,
})

return flow

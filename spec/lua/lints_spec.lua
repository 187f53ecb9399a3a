--- What `pawl check` warns of.
local lints = require "pawl.lints"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

--- "NAME: TEXT" of each, for the nodes of a workflow.
local function found(nodes, options)
  local text = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.lint"]] .. (options or "") .. " }\n"
    .. nodes .. '\nflow:finish "z"\nreturn flow\n'
  local engine <close> = assert(pawl.open(":memory:", { state = "private" }))
  local out = {}
  for i, one in ipairs(lints.of(assert(engine:check(tmp.file("lint.lua",
    text))), text)) do
    assert.is_true(#one.hint > 20)
    out[i] = one.name .. ": " .. one.text
  end
  return out
end

describe("a lint", function()
  after_each(tmp.remove_all)

  it("tells of steps that act outside without a key", function()
    local CHARGE <const> = [[
flow:step("charge", { next = "z", run = function(ctx)
  %s
  return ctx.host.charge { key = %s }
end })]]
    assert.same({ 'no-key: step "charge": ctx.host.charge acts outside, '
      .. "without a key" }, found(CHARGE:format("", "1")))
    assert.same({}, found(CHARGE:format("", "ctx.idempotency_key()")))
    assert.same({}, found(CHARGE:format("-- pawl: allow no-key", "1")))
    assert.same(1, #found(CHARGE:format("-- pawl: allow no-keys", "1")))
  end)

  it("looks at a node's own text", function()
    assert.same({ 'no-key: step "b": os.execute acts outside, without a key' },
      found [[
flow:step("a", { run = function(ctx)
  ctx.vars.key = ctx.idempotency_key()
end })
flow:step("b", { run = function() os.execute "true" end })]])
  end)

  it("tells of waits that nothing ends", function()
    local function wait(more, options)
      return found(('flow:wait("w", { event = "paid", %s next = %s })')
        :format(more, more:find "^timeout" and '{ received = "z", '
          .. 'timeout = "z" }' or '"z"'), options)
    end
    assert.same({ 'no-timeout: wait "w": it may wait for ever' }, wait "")
    assert.same({}, wait 'timeout = "1d",')
    assert.same({}, wait 'on_timer = { after = "1d", next = "z" },')
    assert.same({}, wait("", ', deadline = "30d"'))
    assert.same({}, wait "-- pawl: allow no-timeout\n")
  end)

  it("tells of codes that nothing raises", function()
    local function step(code, raised, before)
      return found((before or "") .. ([[
flow:step("a", { next = "z", on_error = { [%q] = "z" }, run = function(ctx)
  if ctx.input then error { code = %q } end
end })]]):format(code, raised))
    end
    assert.same({ 'never-raised: step "a": nothing in this file raises '
      .. '"declined", which its on_error names' }, step("declined", "decline"))
    assert.same({}, step("declined", "declined"))
    assert.same({}, step("timeout", "decline"))
    assert.same({}, step("*", "decline"))
    -- what is called may raise whatever it likes
    assert.same({}, step("declined", "no", 'local string = require "string"\n'))
  end)
end)

--- What the command says of an instance whose first handler runs.
local Site = require "spec.support.site"

Site.each("an instance whose first handler runs", function(new)
  it("is running, in a worker, with its progress", function()
    local site = new(Site.flow { { "a",
      'ctx.heartbeat { done = 3, of = "9" } gate "g"' } })
    local id = site:start(1)[1]
    local folder = site.folder
    local worker = site:worker()
    site:wait_gate "g"
    local listed = folder:json("list", "--store", site.url)
    assert.equal("running", listed[1].status)
    local shown = folder:pawl("show", id, "--store", site.url).out
    assert.matches("\nstatus       running\n", shown)
    assert.matches("\nheld by      worker %d+ on %S+ since %d%d%d%d%-", shown)
    assert.matches('\nprogress     {"done":3,"of":"9"}\n', shown, 1, true)
    local why = folder:pawl("explain", id, "--store", site.url).out
    assert.matches("It runs, or waits in `ctx.await`, in the worker %d+ on "
      .. "%S+, which has had it for "
      .. '[%d.]+ m?s; it last told: {"done":3,"of":"9"}%.\n', why)
    assert.is_nil(why:find("has not begun", 1, true))
    site:open "g"
    worker:kill "TERM"
    assert.equal(0, worker:wait(20), worker:errors())
    shown = folder:pawl("show", id, "--store", site.url).out
    assert.is_nil(shown:find("held by", 1, true))
    assert.is_nil(shown:find("progress", 1, true))
  end)
end)

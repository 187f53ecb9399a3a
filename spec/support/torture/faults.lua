--- What is done to those who work. Each returns a word about it, or nil when
--- there was nobody to do it to.
local faults = {}

local function hit(run, crew, fn)
  local alive = crew:alive()
  if #alive == 0 then return nil end
  local one = run.random:pick(alive)
  fn(one)
  return tostring(one.no)
end

function faults.kill(run)
  return hit(run, run.workers, function(one)
    run.workers:tell(one, "KILL")
  end)
end

--- Is to end cleanly, with 0.
function faults.term(run)
  return hit(run, run.workers, function(one)
    run.workers:tell(one, "TERM")
  end)
end

--- Half of them past their lease.
function faults.stop(run)
  return hit(run, run.workers, function(one)
    run.workers:stop(one, run.random:between(1, 20) / 10 * run.lease)
  end)
end

--- A relay dies, or sleeps past what it had leased.
function faults.relay(run)
  return hit(run, run.relays, function(one)
    if run.random:chance(70) then
      run.relays:tell(one, "KILL")
    else
      run.relays:stop(one, run.random:between(1, 20) / 10 * run.lease)
    end
  end)
end

--- Whoever prunes dies; most are through before that.
function faults.pruner(run)
  return hit(run, run.pruners, function(one)
    run.pruners:tell(one, "KILL")
  end)
end

function faults.client(run)
  return hit(run, run.clients, function(one)
    run.clients:tell(one, "KILL")
  end)
end

function faults.terminate(run)
  local of_all = run.random:chance(20)
  run.store.terminate(of_all)
  return of_all and "all" or "one"
end

function faults.restart(run)
  run.store.restart()
  return "server"
end

function faults.restart_pooler(run)
  run.store.restart_pooler()
  return "pooler"
end

local weights = { kill = 30, term = 10, stop = 12, client = 12, relay = 12,
  pruner = 5, terminate = 20, restart = 2, restart_pooler = 3 }

--- Those that a store can suffer.
function faults.of(store)
  local can = {}
  for name, weight in pairs(weights) do
    local wants = name:find "^terminate" or name:find "^restart"
    if not wants or store[name] then can[name] = weight end
  end
  return can
end

--- A fault that a worker has in it from its start: it dies, or loses its
--- connection, at a passage of a point in the code.
function faults.inside(random, store)
  if not random:chance(35) then return "" end
  local points = store.name == "sqlite"
    and { "commit.before=kill", "commit.after=kill" }
    or { "commit.before_send=kill", "commit.sent=kill",
      "commit.before_send=drop", "commit.sent=drop" }
  table.move({ "engine.claim.after=kill", "engine.commit.before=kill",
    "engine.commit.after=kill" }, 1, 3, #points + 1, points)
  return ("%s@%d"):format(random:pick(points), random:upto(80))
end

--- The same of a relay.
function faults.inside_relay(random)
  if not random:chance(35) then return "" end
  return ("%s=kill@%d"):format(random:pick { "engine.relay.claimed",
    "engine.relay.publish", "engine.relay.published", "engine.relay.store",
    "engine.relay.stored" }, random:upto(20))
end

--- Of who purges, archives and brings back.
function faults.inside_client(random)
  if not random:chance(50) then return "" end
  return ("%s=kill@%d"):format(random:pick { "engine.act.send",
    "engine.archive.rows", "engine.archive.commit", "engine.purge.batch",
    "engine.purge.last", "engine.import.batch", "engine.import.last",
    "engine.unarchive.last", "engine.archive.last" }, random:upto(4))
end

function faults.inside_pruner(random)
  if not random:chance(35) then return "" end
  return ("%s=kill@%d"):format(random:pick { "engine.prune.step",
    "engine.purge.many", "engine.purge.batch", "engine.purge.last",
    "engine.archive.rows", "engine.archive.commit" }, random:upto(3))
end

return faults

--- Where a relay hands events to: each is a function for engine.outbox:relay
--- with how = "json", and what waits for those that it has under way.
local core = require "pawl.core"
local sys = require "pawl.sys"

local publish = {}

---@class pawl.Publisher
---@field publish pawl.Publish
---@field wait fun(seconds: number)  until one of those under way may be done

---- a command -----------------------------------------------------------------

local most_said = 2000 -- bytes of standard error that are kept
local refused = 65     -- EX_DATAERR

local function read_said(job)
  while job.fd do
    local bytes = sys.read(job.fd)
    if not bytes then
      if bytes == nil then
        sys.close(job.fd)
        job.fd = nil
      end
      return
    end
    job.said = (job.said .. bytes):sub(-most_said)
  end
end

--- The last line is what tells why, most often.
local function last_line(text)
  return text:match "([^\n]*%S[^\n]*)%s*$"
end

local function verdict(job, code, signal)
  read_said(job)
  if job.fd then sys.close(job.fd) end
  if code == 0 then return true end
  local why = job.late or last_line(job.said) or (signal
    and ("the command was killed by signal %d"):format(signal)
    or ("the command exited with %d"):format(code))
  if code == refused then return false, why end
  return nil, why
end

--- One run of a shell's command for each event, which it reads from its
--- standard input. Its exit code tells: 0 accepted, 65 refused, else to be
--- tried again, and the last line of its standard error says why.
---@param command string
---@param timeout number  seconds; it is killed then
---@return pawl.Publisher
function publish.exec(command, timeout)
  local jobs, ended = {}, {}
  local self = {}

  local function reap()
    for pid, code, signal in sys.reap do
      ended[pid] = { code, signal }
    end
  end

  local function begin(text, id)
    local pid, fd = sys.exec(command, text .. "\n")
    if not pid then return nil, "the command cannot be run: " .. fd end
    jobs[id] = { pid = pid, fd = fd, said = "", since = core.mono() }
    return "later"
  end

  function self.publish(text, id, _, again)
    if not again then return begin(text, id) end
    local job = jobs[id]
    reap()
    local how = ended[job.pid]
    if how then
      jobs[id], ended[job.pid] = nil, nil
      return verdict(job, how[1], how[2])
    end
    read_said(job)
    if not job.late and core.mono() - job.since > timeout then
      job.late = ("the command did not end within %g s"):format(timeout)
      sys.kill(job.pid)
    end
    return "later"
  end

  function self.wait(seconds)
    local fds = {}
    reap()
    if next(ended) then return end
    for _, job in pairs(jobs) do
      if not job.fd then seconds = math.min(seconds, 0.01) end
      fds[#fds + 1] = job.fd
    end
    sys.poll(fds, seconds)
  end

  return self
end

---- HTTP ----------------------------------------------------------------------

local function is_later(status)
  return status == 408 or status == 425 or status == 429 or status >= 500
end

--- Posts each event. 2xx: accepted. 408, 425, 429, 5xx, and no answer in time:
--- to be tried again. All else is refused, redirects too.
---@param url string
---@param headers string[]  "Name: value"
---@param timeout number    seconds
---@return pawl.Publisher? publisher
---@return string? why
function publish.http(url, headers, timeout)
  local all = { "Content-Type: application/cloudevents+json; charset=utf-8" }
  table.move(headers, 1, #headers, 2, all)
  local client, missing = sys.http(all)
  if not client then return nil, missing end
  local requests, self = {}, {}

  function self.publish(text, id, _, again)
    if not again then
      local number, why = client:post(url, text, timeout)
      if not number then return nil, why end
      requests[id] = number
      return "later"
    end
    local status, why = client:answer(requests[id])
    if status == nil then return "later" end
    requests[id] = nil
    if not status then return nil, why end
    if status >= 200 and status < 300 then return true end
    why = "HTTP status " .. status
    if is_later(status) then return nil, why end
    return false, why
  end

  function self.wait(seconds) client:wait(seconds) end

  return self
end

return publish

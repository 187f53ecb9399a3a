--- What a disk may hold after a power cut: made of what a program asked of its
--- files (powercut.c), for any point in it.
---
--- What was synced is there. Of each sector written since there is what was
--- written, or what was before; lengths and names go the same way, each by
--- itself and in any order.
---
---     local record = powercut.record(program, { ... }, folder)
---     for _, cut in ipairs(record:cuts()) do
---       record:rebuild(cut, "half", random, "elsewhere")
---       ... record:marks(cut) ...
local build = require "spec.support.build"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local powercut = {}

local SECTOR <const> = 512
local Record = {}
Record.__index = Record

--- How what was not synced is taken: all of it, nothing, or by lot.
powercut.ways = { "nothing", "all", "half", "few", "torn" }

local made -- the recorder, as it was built in this run

local function recorder()
  if made then return made end
  made = tmp.path "powercut.so"
  local flags = shell.output { "pkg-config", "--cflags", "lua5.4" }
  local words = { "gcc", "-O1", "-shared", "-fPIC", "-o", made,
    "spec/support/powercut.c" }
  for flag in flags:gmatch "%S+" do words[#words + 1] = flag end
  shell.output(words)
  return made
end

local function parse(text)
  local entries, at = {}, 1
  while at + 16 <= #text do
    local what, file, place, len = string.unpack("<c1I4i8I4", text, at)
    at = at + 17
    entries[#entries + 1] = { what = what, file = file, at = place,
      bytes = text:sub(at, at + len - 1) }
    at = at + len
  end
  return entries
end

--- Runs a program of Lua, whose files are in `folder`. It finds what marks as
--- `arg[1]`'s `powercut_mark`: package.loadlib(arg[1], "powercut_mark").
---@param program string  its text
---@param words string[]  what follows in `arg`
---@return table
function powercut.record(program, words, folder)
  local so, log = recorder(), tmp.path "powercut.log"
  local before = os.getenv "LD_PRELOAD"
  local line = { "lua5.4", tmp.file("powercut-run.lua", program), so }
  table.move(words, 1, #words, #line + 1, line)
  local code, out, err = process.run(line, { env = {
    LUA_PATH = "./?.lua;" .. build.env.LUA_PATH,
    LUA_CPATH = build.env.LUA_CPATH,
    LD_PRELOAD = (before and before ~= "") and before .. ":" .. so or so,
    PAWL_CUT_FOLDER = folder, PAWL_CUT_LOG = log } })
  assert(code == 0, out .. err)
  return setmetatable({ entries = parse(assert(tmp.read(log))) }, Record)
end

--- Where it may be cut: behind each entry that changes what may be there, and
--- before the first.
function Record:cuts()
  local list = { 0 }
  for i, entry in ipairs(self.entries) do
    if entry.what ~= "m" then list[#list + 1] = i end
  end
  return list
end

--- What the program had said by then, in order.
function Record:marks(cut)
  local list = {}
  for i = 1, cut do
    local entry = self.entries[i]
    if entry.what == "m" then list[#list + 1] = entry.bytes end
  end
  return list
end

--- As if the disk had said that it synced, and had not.
function Record:forget_syncs()
  local kept = {}
  for _, entry in ipairs(self.entries) do
    if entry.what ~= "s" then kept[#kept + 1] = entry end
  end
  self.entries, self.known = kept, nil
end

---- a disk ------------------------------------------------------------------

--- Bytes as sectors, of which the last may be short.
local function write(file, at, bytes)
  local from = 1
  while from <= #bytes do
    local sector = (at + from - 1) // SECTOR
    local inside = (at + from - 1) % SECTOR
    local n = math.min(SECTOR - inside, #bytes - from + 1)
    local piece = bytes:sub(from, from + n - 1)
    if n < SECTOR then
      local was = file.sectors[sector] or ""
      was = was .. ("\0"):rep(inside - #was)
      piece = was:sub(1, inside) .. piece .. was:sub(inside + n + 1)
    end
    file.sectors[sector] = piece
    from = from + n
  end
  file.size = math.max(file.size, at + #bytes)
end

local function resize(file, size)
  local last = size // SECTOR
  if size < file.size then
    for sector = last + 1, file.size // SECTOR do file.sectors[sector] = nil end
    if file.sectors[last] then
      file.sectors[last] = file.sectors[last]:sub(1, size % SECTOR)
    end
  end
  file.size = size
end

local function apply(file, entry)
  if entry.what == "w" then write(file, entry.at, entry.bytes)
  else resize(file, entry.at) end
end

--- A copy that can be changed; sectors are strings, and never change.
local function copy(file)
  return { size = file.size, sectors = table.move(file.sectors, 0,
    file.size // SECTOR, 0, {}) }
end

--- The disk as all that was synced by then has it, and what was not.
function Record:at(cut)
  local from = self.known
  if not from or from.cut > cut then
    from = { cut = 0, files = {}, pending = {}, names = {}, changes = {} }
    self.known = from
  end
  for i = from.cut + 1, cut do
    local entry = self.entries[i]
    local pending = from.pending[entry.file]
    if entry.what == "o" then
      from.files[entry.file] = { size = 0, sectors = {} }
      from.pending[entry.file] = {}
      from.changes[#from.changes + 1] = { name = entry.bytes,
        file = entry.file }
    elseif entry.what == "u" then
      from.changes[#from.changes + 1] = { name = self:name(entry.file) }
    elseif entry.what == "d" then
      for _, change in ipairs(from.changes) do
        from.names[change.name] = change.file
      end
      from.changes = {}
    elseif entry.what == "s" then
      for _, one in ipairs(pending) do apply(from.files[entry.file], one) end
      from.pending[entry.file] = {}
    elseif entry.what ~= "m" then
      pending[#pending + 1] = entry
    end
  end
  from.cut = cut
  return from
end

function Record:name(file)
  for _, entry in ipairs(self.entries) do
    if entry.what == "o" and entry.file == file then return entry.bytes end
  end
end

---- what is left of it --------------------------------------------------------

local SHARE <const> = { nothing = 0, all = 1, half = 0.5, few = 0.1,
  torn = 0.7 }

--- The sectors of a write of which the lot says so, as writes of their own.
local function tear(entry, share, random, out)
  local at, stop = entry.at, entry.at + #entry.bytes
  while at < stop do
    local next_one = math.min((at // SECTOR + 1) * SECTOR, stop)
    if random() < share then
      out[#out + 1] = { what = "w", at = at,
        bytes = entry.bytes:sub(at - entry.at + 1, next_one - entry.at) }
    end
    at = next_one
  end
end

local function survivors(pending, way, random)
  local share, out = SHARE[way], {}
  for _, entry in ipairs(pending) do
    if way == "torn" and entry.what == "w" then
      tear(entry, share, random, out)
    elseif random() < share then
      out[#out + 1] = entry
    end
  end
  return out
end

local function save(path, file)
  local out <close> = assert(io.open(path, "wb"))
  local sectors, blank = file.sectors, ("\0"):rep(SECTOR)
  local parts, last = {}, (file.size - 1) // SECTOR
  for sector = 0, last do
    local one = sectors[sector] or blank
    local n = sector == last and (file.size - 1) % SECTOR + 1 or SECTOR
    parts[#parts + 1] = #one == n and one
      or #one > n and one:sub(1, n) or one .. ("\0"):rep(n - #one)
  end
  assert(out:write(table.concat(parts)))
end

--- Puts into `folder` what may be there when the power goes behind entry `cut`.
---@param way string  of powercut.ways
---@param random fun(): number  from 0 to 1, as math.random
function Record:rebuild(cut, way, random, folder)
  local disk = self:at(cut)
  local names = {}
  for name, file in pairs(disk.names) do names[name] = file end
  for _, change in ipairs(disk.changes) do
    if random() < SHARE[way] then names[change.name] = change.file end
  end
  for name, file in pairs(names) do
    local left = copy(disk.files[file])
    for _, one in ipairs(survivors(disk.pending[file], way, random)) do
      apply(left, one)
    end
    save(folder .. "/" .. name, left)
  end
end

return powercut

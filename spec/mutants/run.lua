--- Plants each fault of spec/mutants/list.lua in this tree, which is a copy,
--- builds it, and runs the specs that should see it. `./dev mutants` makes the
--- copy and the PostgreSQL.
---
--- usage: lua5.4 spec/mutants/run.lua BUILD [--few | PATTERN...]
---
--- A line a fault; then the share that was found, and how many were found and
--- not. Exit 0: at least 95 %, and all that were to be planted could be built.
local list = dofile "spec/mutants/list.lua"

local WANTED = 0.95
local LIMIT = 300 -- seconds for the specs of one fault; a hang is a find

local build = assert(arg[1], "which build?")

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

local function quote(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

--- @return boolean  whether it ended well; its output is in `log`
local function run(words, log)
  local line = {}
  for _, word in ipairs(words) do line[#line + 1] = quote(word) end
  return (os.execute(table.concat(line, " ") .. " >" .. quote(log)
    .. " 2>&1")) == true
end

local log = assert(os.getenv "TMPDIR") .. "/mutant.log"

local function make()
  return run({ "cmake", "--build", build }, log)
end

--- Do all of them pass? `alone`: on SQLite only, which takes half the time.
local function specs_pass(specs, alone)
  local files = {}
  for _, spec in ipairs(specs) do
    if spec:find "%.lua$" then
      files[#files + 1] = spec
    elseif not run({ "timeout", "-k", "5", tostring(LIMIT),
      build .. "/spec/c/" .. spec }, log) then
      return false
    end
  end
  if #files == 0 then return true end
  local words = { "timeout", "-k", "5", tostring(LIMIT), "env" }
  if alone then
    words[#words + 1] = "--unset=PAWL_TEST_PG"
    words[#words + 1] = "--unset=PAWL_TEST_PG_TCP"
  end
  for _, word in ipairs { "PAWL_BUILD=" .. build, "lua5.4", "spec/run",
    "--no-keep-going", table.unpack(files) } do
    words[#words + 1] = word
  end
  return run(words, log)
end

--- On SQLite first; on both stores what that has missed, unless the fault is
--- in SQLite's own files.
local function is_seen(mutant)
  if not mutant.file:find "postgres" and not specs_pass(mutant.specs, true) then
    return true
  end
  return not mutant.file:find "sqlite" and not specs_pass(mutant.specs)
end

local function plant(mutant)
  local text = read(mutant.file)
  local from, to = text:find(mutant.from, 1, true)
  assert(from and not text:find(mutant.from, to + 1, true),
    ("%s: its text must stand in %s exactly once"):format(mutant.name,
      mutant.file))
  write(mutant.file, text:sub(1, from - 1) .. mutant.to .. text:sub(to + 1))
  return text
end

--- "found", "missed", or "not built": then the fault itself is wrong.
local function try(mutant)
  local before = plant(mutant)
  local result = "not built"
  if make() then result = is_seen(mutant) and "found" or "missed" end
  write(mutant.file, before)
  return result
end

local function wanted(mutant)
  if mutant.equivalent then return false end
  if not arg[2] then return true end
  if arg[2] == "--few" then return mutant.few end
  for i = 2, #arg do
    if mutant.name:find(arg[i], 1, true) then return true end
  end
  return false
end

--- Specs that fail without any fault would find everything.
local function check_healthy(chosen)
  local specs, known = {}, {}
  for _, mutant in ipairs(chosen) do
    for _, spec in ipairs(mutant.specs) do
      if not known[spec] then specs[#specs + 1] = spec end
      known[spec] = true
    end
  end
  assert(make(), "it does not build")
  for _, spec in ipairs(specs) do
    if not specs_pass { spec } then
      io.write(read(log))
      error(spec .. " fails without any fault", 0)
    end
  end
end

local chosen = {}
for _, mutant in ipairs(list) do
  if mutant.equivalent then
    print(("equivalent  %s: %s"):format(mutant.name, mutant.equivalent))
  elseif wanted(mutant) then
    chosen[#chosen + 1] = mutant
  end
end
assert(#chosen > 0, "no fault has such a name")
check_healthy(chosen)
local found, bad = 0, 0
for _, mutant in ipairs(chosen) do
  local began = os.time()
  local result = try(mutant)
  if result == "found" then found = found + 1 end
  if result == "not built" then
    bad = bad + 1
    io.write(read(log))
  end
  print(("%-10s  %s  (%s, %d s)"):format(result, mutant.name, mutant.file,
    os.time() - began))
  io.flush()
end
assert(make())
print(("%d of %d found, %.0f %%"):format(found, #chosen,
  100 * found / #chosen))
print(("%d passed, %d failed"):format(found, #chosen - found))
os.exit(bad == 0 and found >= WANTED * #chosen)

--- Packs texts that repeat each other, as statements do that share fragments:
--- for who wants a small program (PAWL_SMALL).
---
--- A text is a list of numbers. One below the number of words is a word, with
--- the space in front of it; any other is two numbers, a word or a pair each.
--- The pairs are found as in byte pair encoding (P. Gage, "A New Algorithm for
--- Data Compression", 1994), in words instead of bytes, and many in each round:
--- what stands side by side most often becomes one number, until nothing does
--- three times. src/store/sqltext.c undoes it.

local LEAST <const> = 3 -- a pair takes as much room as it saves in two places
local MOST <const> = 65535 -- numbers of 16 bits; 0 ends a text

---@class pack.Packed
---@field words string[]            by their number, from 1 on: 0 is no word
---@field pairs integer[][]         by theirs, behind the words
---@field texts integer[][]

local function split(text, see)
  local out, at = {}, 1
  while at <= #text do
    local word = text:match("^%s*[%w_]+", at) or text:match("^%s*[^%w%s_]+", at)
      or text:match("^%s+", at)
    out[#out + 1] = see(word)
    at = at + #word
  end
  return out
end

local function count(texts)
  local n = {}
  for _, text in ipairs(texts) do
    for i = 2, #text do
      local pair = text[i - 1] << 16 | text[i]
      n[pair] = (n[pair] or 0) + 1
    end
  end
  return n
end

--- The most frequent pairs of which no two have a number in common, so that all
--- can be replaced in one go; the order is that of the numbers where two are as
--- frequent.
local function choose(n)
  local list, most = {}, 0
  for pair, times in pairs(n) do
    if times >= LEAST then
      list[#list + 1] = pair
      most = math.max(most, times)
    end
  end
  table.sort(list, function(a, b)
    if n[a] ~= n[b] then return n[a] > n[b] end
    return a < b
  end)
  local chosen, taken = {}, {}
  for _, pair in ipairs(list) do
    local left, right = pair >> 16, pair & 0xffff
    if n[pair] < most / 2 then break end
    if not taken[left] and not taken[right] then
      taken[left], taken[right] = true, true
      chosen[#chosen + 1] = pair
    end
  end
  return chosen
end

local function replaced(text, number)
  local out, i = {}, 1
  while i <= #text do
    local pair = text[i + 1] and number[text[i] << 16 | text[i + 1]]
    out[#out + 1] = pair or text[i]
    i = i + (pair and 2 or 1)
  end
  return out
end

---@param texts string[]
---@return pack.Packed
return function(texts)
  local words, by_word, found, made = {}, {}, {}, {}
  local function see(word)
    if not by_word[word] then
      words[#words + 1] = word
      by_word[word] = #words
    end
    return by_word[word]
  end
  for i, text in ipairs(texts) do made[i] = split(text, see) end
  while true do
    local number, any = {}, false
    for _, pair in ipairs(choose(count(made))) do
      if #words + #found < MOST then
        found[#found + 1] = { pair >> 16, pair & 0xffff }
        number[pair], any = #words + #found, true
      end
    end
    if not any then break end
    for i, text in ipairs(made) do made[i] = replaced(text, number) end
  end
  assert(#words < MOST, "too many words")
  return { words = words, pairs = found, texts = made }
end

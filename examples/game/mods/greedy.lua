-- A mod that somebody put on a web page. It tries to hang the game: the game
-- has loaded it as limited, so it fails, and says why.
local pawl = require "pawl"

local greedy = pawl.workflow { code = "mod.greedy", start = "hang" }

greedy:step("hang", {
  run = function()
    while true do
      pcall(function() while true do end end)
    end
  end,
  next = "done",
})
greedy:finish "done"

return greedy

--- A program that is taken for the one which isolated definitions run in, and
--- does what that would never do (liar.c).
---
---     { level = "isolated", helper = liar.helper("run", "says nothing") }
local build = require "spec.support.build"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local liar = {}

local made -- the program, as it was built in this run

local function program()
  if made then return made end
  made = tmp.path "liar"
  shell.output { "gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-o",
    made, "spec/support/liar.c" }
  return made
end

--- A program to be named as `helper`; it starts with an empty environment, and
--- with arguments that are the host's.
---@param when string  at which message of the host: "setup", "load", "run";
---  "always"
---@param what string  one of the acts of liar.c
---@param number integer?  how many, or which
---@return string path
function liar.helper(when, what, number)
  local path = tmp.file("helper", "#!/bin/sh\nexec " .. shell.line { program(),
    build.command, when, what, tostring(number or 0) } .. "\n")
  shell.output { "chmod", "755", path }
  return path
end

return liar

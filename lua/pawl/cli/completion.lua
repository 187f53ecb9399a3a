--- pawl completion bash | zsh | fish: scripts that ask `pawl completion words`
--- for each word.
local nearest = require "pawl.nearest"
local options = require "pawl.cli.options"
local term = require "pawl.cli.term"

local scripts = {}

scripts.bash = [=[
# pawl: completion for bash. source <(pawl completion bash)
_pawl() {
  local word about
  COMPREPLY=()
  while IFS=$'\t' read -r word about; do
    if [ "$word" = :files ]; then
      compopt -o default
    else
      COMPREPLY+=("$word")
    fi
  done < <(PGCONNECT_TIMEOUT=2 "${COMP_WORDS[0]}" completion words -- \
    "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _pawl pawl]=]

scripts.zsh = [=[
#compdef pawl
# pawl: completion for zsh. source <(pawl completion zsh), behind compinit
_pawl() {
  local word about
  local -a found
  while IFS=$'\t' read -r word about; do
    if [[ $word == :files ]]; then
      _files
    else
      found+=("${word//:/\\:}:$about")
    fi
  done < <(PGCONNECT_TIMEOUT=2 ${words[1]} completion words -- \
    "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#found )) && _describe -V pawl found
}
if [[ $funcstack[1] == _pawl ]]; then
  _pawl "$@"
else
  compdef _pawl pawl
fi]=]

scripts.fish = [=[
# pawl: completion for fish. pawl completion fish | source
function __pawl_words
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  for line in (env PGCONNECT_TIMEOUT=2 $before[1] completion words -- \
      $before[2..-1] "$current" 2>/dev/null)
    if test "$line" = :files
      __fish_complete_path "$current"
    else
      echo $line
    end
  end
end
complete -c pawl -f -a "(__pawl_words)"]=]

--- One a line, behind a tab what it is.
local function words(opts, args)
  local candidates = require "pawl.cli.candidates"
  for _, found in ipairs(candidates(table.move(args, 2, #args, 1, {}), opts))
  do
    term.print(found[1], found[2] and "\t" .. term.cut(found[2], 60) or "")
  end
end

local kinds = { "bash", "zsh", "fish" }

local function run(opts, args)
  if args[1] == "words" then
    words(opts, args)
  elseif scripts[args[1]] and not args[2] then
    term.lines(scripts[args[1]])
  else
    options.usage("there is no completion for '%s'",
      nearest.hint(args[1], kinds), args[2] or args[1])
  end
  return 0
end

return {
  name = "completion", args = "bash|zsh|fish", min = 1, max = math.huge,
  summary = "a script by which a shell completes command lines",
  about = "Prints a script for bash, zsh or fish that completes commands, "
    .. "options, and what the store has: ids, codes of workflows, nodes. Ids "
    .. "are offered by their ends, as lists show them, and only where the "
    .. "command can do something for their instances. The store is the one "
    .. "that the line names, or PAWL_STORE; one that does not answer offers "
    .. "nothing. The script asks `pawl completion words -- WORD...`.",
  options = {},
  examples = {
    { "source <(pawl completion bash)", "in ~/.bashrc; zsh likewise" },
    { "pawl completion fish | source", "in config.fish" },
  },
  run = run,
}

# A bare Debian 12: what debootstrap calls minbase, in a folder, to see that
# ./dev names every package it needs.
#
#   bare_reason       says why there can be none here; fails when there can
#   bare_make FOLDER  makes one, with this checkout in /pawl
#   bare_run FOLDER COMMAND...  runs a command in it, in /pawl
#   bare_stop         ends what runs there; harmless when nothing does
#
# Sourced by bash. All of it happens in a mount and a process namespace of its
# own: its mounts and processes are gone when its first process is, however
# that ends. Packages come from where this system's come from.

bare_suite=bookworm
bare_pid=

# "URI SUITE COMPONENT" of each source of that suite, its updates included.
bare_sources() {
  apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 2>/dev/null |
    awk -v suite=$bare_suite '$2 == suite || index($2, suite "-") == 1' |
    sort -u
}

bare_mirror() {
  bare_sources | awk -v suite=$bare_suite '$2 == suite { print $1; exit }'
}

bare_reason() {
  if ! command -v apt-get >/dev/null; then
    echo "there is no apt-get"
  elif [ "$(id -u)" != 0 ]; then
    echo "it takes root: chroot, mount, mknod"
  elif ! unshare --mount --pid --fork true 2>/dev/null; then
    echo "mount and process namespaces are not allowed here"
  elif [ -z "$(bare_mirror)" ]; then
    echo "apt here knows no mirror of Debian $bare_suite"
  else
    return 1
  fi
}

# A signal that comes meanwhile is obeyed at once: hence not in the foreground.
bare_apart() {
  local code=0
  unshare --mount --pid --fork --kill-child "$@" </dev/null &
  bare_pid=$!
  wait $bare_pid || code=$?
  bare_pid=
  return $code
}

bare_stop() {
  if [ -z "$bare_pid" ]; then
    return 0 # in a trap, `return` alone says how the script failed: it ends
  fi
  kill -KILL "$bare_pid" 2>/dev/null || true
  wait "$bare_pid" 2>/dev/null || true
  bare_pid=
}

# How apt is told to reach the network here, if it is told anything.
bare_network() {
  apt-config dump | grep -E '^Acquire::(http|https|ftp)::' || true
  cp /etc/hosts "$1/etc/hosts"
}

bare_checkout() {
  local list=(find . -path ./build -prune -o -path ./.git -prune -o -type f
    -printf '%P\0')
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    list=(git ls-files -z --cached --others --exclude-standard)
  fi
  mkdir "$1/pawl"
  "${list[@]}" | tar --create --null --files-from=- --ignore-failed-read |
    tar --extract --no-same-owner --directory "$1/pawl"
}

bare_make() {
  local log=$1.log
  # The mounts that debootstrap itself makes are in that namespace too.
  bare_apart debootstrap --variant=minbase $bare_suite "$1" \
    "$(bare_mirror)" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    return 1
  }
  bare_sources | sed 's/^/deb /' >"$1/etc/apt/sources.list"
  bare_network "$1" >"$1/etc/apt/apt.conf.d/90network"
  bare_checkout "$1"
}

# Its first process is not the command's: that one would not be ended by
# signals, and would have to bury orphans.
bare_run() {
  local root=$1
  shift
  bare_apart bash -c '
    cd "$1" || exit 1
    mount -t proc proc proc
    mount -t tmpfs tmpfs dev/shm
    mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
    chroot . env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
      bash -c '\''cd /pawl && exec "$@"'\'' bash "${@:2}"
    exit $?' bash "$root" "$@"
}

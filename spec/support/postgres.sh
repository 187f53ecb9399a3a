# A PostgreSQL of our own: made, used and thrown away by one run of ./dev.
#
#   postgres_start [OPTION=VALUE...]  makes a cluster and starts it. Sets and
#       exports PAWL_TEST_PG (conninfo of a superuser, over a Unix socket) and
#       PAWL_TEST_PG_TCP (the same over loopback, with a password).
#   postgres_restart  crashes it, and starts it again at the same address.
#   postgres_follow  starts it again as a replica, of no other server.
#   postgres_stop  stops it and removes its files; harmless when there is none.
#   postgres_reap  does that for clusters that were left behind: whose owner,
#       the process that PAWL_OWNER names (./dev itself), is gone, or is us.
#
# Sourced by bash. initdb refuses to run as root, so as root everything runs
# as the user `postgres`. Nobody else reaches the socket: its folder is 0700.

postgres_dir=

postgres_bin() {
  local dir
  for dir in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -Vr) \
             "$(pg_config --bindir 2>/dev/null || true)"; do
    if [ -x "$dir/initdb" ]; then
      echo "$dir"
      return
    fi
  done
  echo "PostgreSQL's initdb was not found: install the server" >&2
  return 1
}

postgres_as() {
  if [ "$(id -u)" = 0 ]; then
    (cd / && runuser -u postgres -- "$@")
  else
    "$@"
  fi
}

# A port on which nobody answers. Somebody may take it before we do: the
# caller tries again.
postgres_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 30000))
    (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

# What tells a process of this machine from others that get its number later, or
# have it elsewhere; nothing when there is none.
postgres_life() {
  local stat
  [ -n "$1" ] && stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  stat=${stat##*) } # its name may hold anything
  set -- "$1" $stat
  echo "$1 ${21} $(readlink /proc/self/ns/pid)" \
    "$(cat /proc/sys/kernel/random/boot_id)"
}

postgres_start() {
  local bin port password setting try
  bin=$(postgres_bin) || return 1
  # Not under TMPDIR: that may be private to root, and long. A socket's path
  # has room for about 100 bytes.
  postgres_dir=$(mktemp -d /tmp/pawl-pg.XXXXXX)
  postgres_life "${PAWL_OWNER:-}" >"$postgres_dir/owner"
  password=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
  printf '%s\n' "$password" >"$postgres_dir/password"
  if [ "$(id -u)" = 0 ]; then chown -R postgres: "$postgres_dir"; fi
  postgres_as "$bin/initdb" --pgdata="$postgres_dir/data" \
    --username=postgres --pwfile="$postgres_dir/password" \
    --auth-local=trust --auth-host=scram-sha-256 \
    --encoding=UTF8 --locale=C --no-sync >"$postgres_dir/initdb.log" 2>&1 || {
    cat "$postgres_dir/initdb.log" >&2
    return 1
  }
  for setting in max_connections=100 listen_addresses=127.0.0.1 \
    unix_socket_directories="$postgres_dir" timezone=UTC "$@"; do
    # A later line wins over an earlier one.
    echo "${setting%%=*} = '${setting#*=}'"
  done | postgres_as tee -a "$postgres_dir/data/postgresql.conf" >/dev/null
  for try in 1 2 3 4 5; do
    port=$(postgres_port)
    if postgres_as "$bin/pg_ctl" --pgdata="$postgres_dir/data" --wait \
      --log="$postgres_dir/server.log" --options="-p $port" \
      start >/dev/null 2>&1; then
      export PAWL_TEST_PG="host=$postgres_dir port=$port user=postgres \
dbname=postgres"
      export PAWL_TEST_PG_TCP="host=127.0.0.1 port=$port user=postgres \
password=$password dbname=postgres"
      return
    fi
  done
  echo "PostgreSQL did not start (tried $try ports):" >&2
  cat "$postgres_dir/server.log" >&2
  return 1
}

# Kills it as a crash would, and starts it again.
postgres_restart() {
  postgres_as "$(postgres_bin)/pg_ctl" --pgdata="$postgres_dir/data" --wait \
    --log="$postgres_dir/server.log" --mode=immediate restart >/dev/null 2>&1
}

postgres_follow() {
  postgres_as touch "$postgres_dir/data/standby.signal"
  postgres_as "$(postgres_bin)/pg_ctl" --pgdata="$postgres_dir/data" --wait \
    --log="$postgres_dir/server.log" --mode=fast restart >/dev/null 2>&1
}

postgres_stop() {
  if [ -z "$postgres_dir" ]; then
    return 0 # in a trap, `return` alone says how the script failed: it ends
  fi
  if [ -f "$postgres_dir/data/postmaster.pid" ]; then
    postgres_as "$(postgres_bin)/pg_ctl" --pgdata="$postgres_dir/data" \
      --mode=immediate stop >/dev/null 2>&1 || true
  fi
  rm -rf "$postgres_dir"
  postgres_dir=
}

# Ours by its folder's owner, which nobody else can forge.
postgres_is_ours() {
  local user
  user=$(id -un)
  if [ "$(id -u)" = 0 ]; then user=postgres; fi
  [ -d "$1" ] && [ ! -L "$1" ] && [ "$(stat -c %U "$1")" = "$user" ]
}

postgres_reap() {
  local dir pid start space boot own=$postgres_dir
  for dir in /tmp/pawl-pg.*; do
    postgres_is_ours "$dir" && [ "$dir" != "$own" ] || continue
    [ -s "$dir/owner" ] || continue
    read -r pid start space boot <"$dir/owner"
    [ "$space" = "$(readlink /proc/self/ns/pid)" ] || continue
    [ "$pid" = $$ ] ||
      [ "$(postgres_life "$pid")" != "$pid $start $space $boot" ] || continue
    postgres_dir=$dir
    postgres_stop
  done
  postgres_dir=$own
}

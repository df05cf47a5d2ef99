# Sourced by the scripts that prove packages and images: how they tell what holds, and what they start beside the program.
claim() { printf 'ok - %s\n' "$1"; }
die() { printf 'not ok - %s\n' "$1" >&2; exit 1; }
free_port() { node -e 's=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'; }
# command…: until it succeeds, for at most 30 s
until_holds() { for _ in $(seq 150); do "$@" >/dev/null 2>&1 && return 0; sleep 0.2; done; return 1; }

pids=() postgres_home=
end_processes() { # last started first: PostgreSQL waits for its clients
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do kill "${pids[i]}" 2>/dev/null && wait "${pids[i]}" 2>/dev/null || true; done
  [ -z "$postgres_home" ] || rm -rf "$postgres_home"
}

# An empty PostgreSQL without passwords, as nobody where this is root; sets postgres_url. False where none is installed.
start_postgres() {
  local bin as=() port
  bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
  [ -x "$bin/initdb" ] || return 1
  postgres_home=$(mktemp -d)
  if [ "$(id -u)" = 0 ]; then as=(setpriv --reuid=65534 --regid=65534 --clear-groups); chown 65534:65534 "$postgres_home"; fi
  port=$(free_port)
  (cd / && "${as[@]}" "$bin/initdb" -D "$postgres_home/data" -U postgres -A trust --no-sync >/dev/null) || die "initdb"
  (cd / && exec "${as[@]}" "$bin/postgres" -D "$postgres_home/data" -p "$port" -k "$postgres_home" -c listen_addresses=127.0.0.1 -c fsync=off >/dev/null 2>&1) & pids+=($!)
  until_holds "$bin/pg_isready" -h 127.0.0.1 -p "$port" || die "PostgreSQL does not start"
  postgres_url=postgres://postgres@127.0.0.1:$port/postgres
}

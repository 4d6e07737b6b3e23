#!/usr/bin/env bash
# A PostgreSQL for tests: Debian's, installed where it is missing, on a folder and a port of its own.
#
#   scripts/postgres.sh install             install it, if it is not there
#   scripts/postgres.sh find                print where its programs are; fail if it is not there
#   scripts/postgres.sh start FOLDER [PORT] start one that keeps its data in FOLDER; print its URL
#   scripts/postgres.sh stop FOLDER         stop it; the data stays
#   scripts/postgres.sh crash FOLDER        stop it as a crash would
#   scripts/postgres.sh standby FOLDER OF   start one that follows the one that keeps its data in OF; print its URL
#   scripts/postgres.sh promote FOLDER      let a standby take orders
#
# PostgreSQL refuses to run as root, so root runs it as the user that its package brings. FOLDER must
# be reachable for that user. TOOLYARD_POSTGRES has options for the server, such as "-c fsync=on".
set -euo pipefail

find_bin() {
  local newest
  newest=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
  if [ -n "$newest" ] && [ -x "$newest/initdb" ]; then
    echo "$newest"
  elif command -v initdb >/dev/null && command -v pg_ctl >/dev/null; then
    dirname "$(command -v pg_ctl)"
  else
    return 1
  fi
}

install() {
  if find_bin >/dev/null; then
    return
  fi
  # No cluster either: a machine that runs tests has not asked for one.
  local config=/etc/postgresql-common/createcluster.conf
  if [ "$(id -u)" -eq 0 ] && [ ! -e "$config" ]; then
    mkdir -p "$(dirname "$config")"
    echo "create_main_cluster = false" >"$config"
  fi
  "$(dirname "$0")/debian.sh" postgresql
}

as_owner() {
  # In the folder itself: that user may not be allowed into the one we stand in.
  if [ "$(id -u)" -eq 0 ]; then
    (cd "$folder" && runuser -u postgres -- "$@")
  else
    "$@"
  fi
}

# Not one of those that the system gives to connections: one of these could take it before the
# server does.
free_port() {
  python3 -c 'if True:
    import random, socket
    while True:
        port = random.randrange(20000, 32000)
        try:
            socket.socket().bind(("127.0.0.1", port))
        except OSError:
            continue
        print(port)
        break'
}

start() {
  local port=${1:-} bin
  bin=$(find_bin) || { echo "there is no PostgreSQL; run: scripts/postgres.sh install" >&2; exit 1; }
  mkdir -p "$folder"
  chmod 700 "$folder"
  [ "$(id -u)" -ne 0 ] || chown postgres "$folder"
  if [ ! -e "$folder/data/PG_VERSION" ]; then
    as_owner "$bin/initdb" --pgdata "$folder/data" --username toolyard --auth trust \
      --encoding UTF8 --no-locale --no-sync >"$folder/initdb.log" 2>&1 ||
      { cat "$folder/initdb.log" >&2; exit 1; }
  fi
  [ -n "$port" ] || port=$(cat "$folder/port" 2>/dev/null || free_port)
  echo "$port" >"$folder/port"
  as_owner "$bin/pg_ctl" start --pgdata "$folder/data" --log "$folder/server.log" --wait --silent \
    --options "-c listen_addresses=127.0.0.1 -p $port -k '' -c fsync=off -c max_connections=100 ${TOOLYARD_POSTGRES:-}" \
    >&2 </dev/null || { cat "$folder/server.log" >&2; exit 1; }
  echo "postgresql://toolyard@127.0.0.1:$port/postgres"
}

standby() {
  local of=$1 bin
  bin=$(find_bin)
  mkdir -p "$folder"
  chmod 700 "$folder"
  [ "$(id -u)" -ne 0 ] || chown postgres "$folder"
  rm -rf "$folder/data"
  as_owner "$bin/pg_basebackup" --dbname "postgresql://toolyard@127.0.0.1:$(cat "$of/port")/postgres" \
    --pgdata "$folder/data" --write-recovery-conf --checkpoint fast --no-sync >&2
  start
}

promote() {
  as_owner "$(find_bin)/pg_ctl" promote --pgdata "$folder/data" --wait --silent >&2
}

stop() {
  as_owner "$(find_bin)/pg_ctl" stop --pgdata "$folder/data" --mode "$1" --wait --silent >&2
}

order=${1:-}
case "$order" in
  install) install ;;
  find) find_bin ;;
  start | stop | crash | standby | promote)
    folder=${2:?a folder is needed}
    case "$order" in
      start) start "${3:-}" ;;
      stop) stop fast ;;
      crash) stop immediate ;;
      standby) standby "${3:?the folder of the one to follow is needed}" ;;
      promote) promote ;;
    esac
    ;;
  *)
    sed -n '2,12p' "$0" | cut -c3- >&2
    exit 2
    ;;
esac

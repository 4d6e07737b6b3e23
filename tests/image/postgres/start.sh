#!/bin/sh
# Start a PostgreSQL as the official image does: one database, for POSTGRES_USER, made the first time.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
data=/var/lib/postgresql/data

as_owner() { setpriv --reuid postgres --regid postgres --init-groups -- "$@"; }

chown postgres "$data"
chmod 700 "$data"
if [ ! -e "$data/PG_VERSION" ]; then
  password=$(mktemp)
  chown postgres "$password"
  echo "$POSTGRES_PASSWORD" >"$password"
  as_owner "$bin/initdb" -D "$data" -U "$POSTGRES_USER" --pwfile "$password" -A scram-sha-256 >/dev/null
  rm "$password"
  echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"
  as_owner "$bin/pg_ctl" -D "$data" -o "-c listen_addresses='' -k /tmp" --wait start >/dev/null
  PGPASSWORD=$POSTGRES_PASSWORD as_owner "$bin/createdb" -h /tmp -U "$POSTGRES_USER" "$POSTGRES_USER"
  as_owner "$bin/pg_ctl" -D "$data" -m fast --wait stop >/dev/null
fi
exec setpriv --reuid postgres --regid postgres --init-groups -- "$bin/postgres" -D "$data" \
  -c listen_addresses='*' -k /tmp

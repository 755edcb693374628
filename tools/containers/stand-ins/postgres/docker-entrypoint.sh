#!/bin/bash
# As the official image, for what compose.yaml uses of it: the variables POSTGRES_USER,
# POSTGRES_PASSWORD and POSTGRES_DB, and scripts for an empty volume.
set -Eeo pipefail
case "$1" in
-*) set -- postgres "$@" ;;
esac
if [ "$1" != postgres ]; then exec "$@"; fi
mkdir -p "$PGDATA"
chmod 700 "$PGDATA" || true
if [ "$(id -u)" = 0 ]; then
  find "$PGDATA" /var/run/postgresql \! -user postgres -exec chown postgres '{}' +
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$BASH_SOURCE" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  : "${POSTGRES_PASSWORD:?is missing}" "${POSTGRES_USER:=postgres}"
  : "${POSTGRES_DB:=$POSTGRES_USER}"
  export POSTGRES_USER POSTGRES_DB PGPASSWORD="$POSTGRES_PASSWORD"
  initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD")
  printf '\nhost all all all %s\n' "$(postgres -C password_encryption)" >>"$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
  psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
    --set db="$POSTGRES_DB" <<<'CREATE DATABASE :"db";'
  for script in /docker-entrypoint-initdb.d/*.sh; do "$script"; done
  pg_ctl -D "$PGDATA" -m fast -w stop
  unset PGPASSWORD
fi
exec "$@"

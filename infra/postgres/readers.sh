#!/bin/sh
# Users that look on, made by the image of PostgreSQL when it sets up an empty volume: grafana reads
# the job cache, exporter the figures of the server.
set -eu
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  -v grafana="$BRINE_GRAFANA_DB_PASSWORD" -v exporter="$BRINE_EXPORTER_DB_PASSWORD" <<'SQL'
CREATE ROLE grafana LOGIN PASSWORD :'grafana' CONNECTION LIMIT 10;
GRANT pg_read_all_data TO grafana;
-- A board that somebody left open must not hold the job cache up.
ALTER ROLE grafana SET statement_timeout = '15s';
ALTER ROLE grafana SET default_transaction_read_only = on;
CREATE ROLE exporter LOGIN PASSWORD :'exporter' CONNECTION LIMIT 5;
GRANT pg_monitor TO exporter;
SQL

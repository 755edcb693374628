#!/bin/sh
# Users, made by the image of PostgreSQL when it sets up an empty volume: store writes the job cache,
# grafana reads it, exporter the figures of the server. `brine postgres roles` gives the rights.
set -eu
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  -v store="$BRINE_STORE_DB_PASSWORD" \
  -v grafana="$BRINE_GRAFANA_DB_PASSWORD" -v exporter="$BRINE_EXPORTER_DB_PASSWORD" <<'SQL'
CREATE ROLE brine_store NOLOGIN;
CREATE ROLE store LOGIN PASSWORD :'store' IN ROLE brine_store;
CREATE ROLE brine_reader NOLOGIN;
CREATE ROLE grafana LOGIN PASSWORD :'grafana' CONNECTION LIMIT 10 IN ROLE brine_reader;
-- A board that somebody left open must not hold the job cache up.
ALTER ROLE grafana SET statement_timeout = '15s';
ALTER ROLE grafana SET default_transaction_read_only = on;
CREATE ROLE exporter LOGIN PASSWORD :'exporter' CONNECTION LIMIT 5;
GRANT pg_monitor TO exporter;
SQL

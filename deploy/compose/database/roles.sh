#!/bin/sh
# Runs once, when the database is created: collectors write as gateside_collect, dashboards read as grafana.
set -eu
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  -v collect="$(cat /run/secrets/collect_database_password)" -v grafana="$(cat /run/secrets/grafana_database_password)" <<'END'
CREATE ROLE gateside_writer NOLOGIN;
CREATE ROLE gateside_reader NOLOGIN;
CREATE ROLE gateside_collect LOGIN PASSWORD :'collect' IN ROLE gateside_writer;
CREATE ROLE grafana LOGIN PASSWORD :'grafana' IN ROLE gateside_reader;
ALTER ROLE grafana SET statement_timeout = '30s';
ALTER ROLE grafana SET jit = off;
\i /rights.sql
END

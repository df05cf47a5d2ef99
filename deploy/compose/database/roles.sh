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
-- A log-in that reads could hold the locks that collectors write under.
DO $$
DECLARE
  lock regprocedure;
BEGIN
  FOR lock IN SELECT oid FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND proname ~ '^pg_(try_)?advisory_(xact_)?lock' LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', lock);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO gateside_writer', lock);
  END LOOP;
END $$;
-- Nor does it fill the disk with tables and objects of its own.
REVOKE TEMPORARY ON DATABASE :"DBNAME" FROM PUBLIC;
GRANT TEMPORARY ON DATABASE :"DBNAME" TO gateside_writer;
REVOKE EXECUTE ON FUNCTION lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) FROM PUBLIC;
END

-- As a superuser, once, before the first `gateside collect --migrate-only`, with a password for each log-in:
--   psql -v owner="…" -v collect="…" -v grafana="…" -f roles.sql
-- The owner migrates; collectors write as gateside_writer; dashboards read as gateside_reader.
\set ON_ERROR_STOP on
\set missing 'DO $$ BEGIN RAISE EXCEPTION ''name a password for each log-in: psql -v owner=… -v collect=… -v grafana=… -f roles.sql''; END $$;'
\if :{?owner}
\else
  :missing
\endif
\if :{?collect}
\else
  :missing
\endif
\if :{?grafana}
\else
  :missing
\endif
CREATE ROLE gateside_writer NOLOGIN;
CREATE ROLE gateside_reader NOLOGIN;
CREATE ROLE gateside_owner LOGIN PASSWORD :'owner';
CREATE ROLE gateside_collect LOGIN PASSWORD :'collect' IN ROLE gateside_writer;
CREATE ROLE grafana LOGIN PASSWORD :'grafana' IN ROLE gateside_reader;
-- A dashboard query must not occupy the database forever.
ALTER ROLE grafana SET statement_timeout = '30s';
-- With a table for each week, compiling the plan of a year's query takes minutes: any other log-in that reads needs this, too.
ALTER ROLE grafana SET jit = off;
CREATE DATABASE gateside OWNER gateside_owner;
\connect gateside
\ir rights.sql

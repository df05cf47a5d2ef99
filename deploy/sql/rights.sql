-- Part of roles.sql. A database that an older one has made, or that was created again, takes these alone, from a superuser: psql -d gateside -f rights.sql
\set ON_ERROR_STOP on
-- A log-in that reads could hold the locks that collectors write under.
DO $$
DECLARE
  lock regprocedure;
  owner regrole := (SELECT datdba FROM pg_database WHERE datname = current_database());
BEGIN
  FOR lock IN SELECT oid FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND proname ~ '^pg_(try_)?advisory_(xact_)?lock' LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', lock);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s, gateside_writer', lock, owner);
  END LOOP;
  -- Nor does it fill the disk with tables and objects of its own. The owner may: else it could not restore a dump, which has these rights, too.
  REVOKE EXECUTE ON FUNCTION lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) FROM PUBLIC;
  EXECUTE format('GRANT EXECUTE ON FUNCTION lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) TO %s', owner);
END $$;
REVOKE TEMPORARY ON DATABASE :"DBNAME" FROM PUBLIC;
GRANT TEMPORARY ON DATABASE :"DBNAME" TO gateside_writer;

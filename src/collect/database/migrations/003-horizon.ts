/** The weekly tables, frozen with the steps that name them. */
const WEEKLY = `ARRAY['reading_accel', 'reading_current', 'reading_current_v2', 'reading_acc_current', 'reading_loop', 'reading_dry_contact', 'reading_rpm', 'reading_other', 'waveform', 'alarm_event']`;

/**
 * What is too old, for all collectors alike; weeks before it leave without making writers wait. Never edited once
 * released; a test holds its digest.
 */
export const HORIZON = `
CREATE TABLE horizon (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  before timestamptz NOT NULL
);
COMMENT ON TABLE horizon IS 'what is older is not accepted, and its weeks leave; one row, written by gateside_raise_horizon';
COMMENT ON COLUMN horizon.only_row IS 'true: there is one row';
COMMENT ON COLUMN horizon.before IS 'the start of the first week that is kept; it only rises';
INSERT INTO horizon (before) VALUES ('-infinity');

-- To the start of the moment's week, unless it is there already. Returns the horizon.
CREATE FUNCTION gateside_raise_horizon(moment timestamptz) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  risen timestamptz;
BEGIN
  UPDATE horizon SET before = date_trunc('week', moment, 'UTC') WHERE before < date_trunc('week', moment, 'UTC')
  RETURNING before INTO risen;
  IF risen IS NOT NULL THEN
    DELETE FROM gap WHERE received < risen;
  END IF;
  RETURN (SELECT before FROM horizon);
END $$;

-- Weekly tables before the horizon. One that was detached has no parent any more.
CREATE VIEW leaving_week AS
SELECT t.parent, c.relname::text AS child, i.inhrelid IS NOT NULL AS attached, coalesce(i.inhdetachpending, false) AS pending
FROM unnest(${WEEKLY}) t(parent)
JOIN pg_class p ON p.oid = to_regclass(t.parent)
JOIN pg_class c ON c.relnamespace = p.relnamespace AND c.relkind = 'r'
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND i.inhparent = p.oid
WHERE CASE WHEN c.relname ~ ('^' || t.parent || '_\\d{8}$') THEN to_timestamp(right(c.relname, 8) || ' +00', 'YYYYMMDD TZH') END
  < (SELECT before FROM horizon);
COMMENT ON VIEW leaving_week IS 'weekly tables that are on their way out';

-- Drops one of them, and detaches it first where that has not been done concurrently. Fails rather than wait for a reader: writers would wait behind it.
CREATE FUNCTION gateside_drop_week(name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
DECLARE
  week leaving_week;
BEGIN
  SELECT * INTO week FROM leaving_week WHERE child = name;
  IF week.pending THEN
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I FINALIZE', week.parent, week.child);
  ELSIF week.attached THEN
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', week.parent, week.child);
  END IF;
  IF week.child IS NOT NULL THEN
    EXECUTE format('DROP TABLE %I', week.child);
  END IF;
END $$;

-- Collectors of 0.2 call it; those of 0.3 remove the weeks.
CREATE OR REPLACE FUNCTION gateside_drop_partitions(moment timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS 'SELECT 0';

CREATE OR REPLACE FUNCTION gateside_make_partitions(moment timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  parent text;
  child text;
  lower_bound timestamptz := date_trunc('week', moment, 'UTC');
  upper_bound timestamptz := date_trunc('week', moment, 'UTC') + interval '168 hours';
  made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('gateside'), hashtext('partitions'));
  IF lower_bound < (SELECT before FROM horizon) THEN
    RETURN 0;
  END IF;
  FOREACH parent IN ARRAY ${WEEKLY} LOOP
    child := format('%s_%s', parent, to_char(lower_bound AT TIME ZONE 'UTC', 'YYYYMMDD'));
    IF to_regclass(quote_ident(child)) IS NULL THEN
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', child, parent);
      IF parent = 'waveform' THEN
        EXECUTE format('ALTER TABLE %I ALTER COLUMN data SET STORAGE EXTERNAL', child);
      END IF;
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, lower_bound, upper_bound);
      made := made + 1;
    END IF;
  END LOOP;
  RETURN made;
END $$;
`;

/** The weekly tables, frozen with this step. */
const WEEKLY = `ARRAY['reading_accel', 'reading_current', 'reading_current_v2', 'reading_acc_current', 'reading_loop', 'reading_dry_contact', 'reading_rpm', 'reading_other', 'waveform', 'alarm_event']`;

/**
 * Functions with the owner's rights are called by collectors: they find nothing in a caller's temporary schema before ours, and take no time that would
 * refuse or remove everything. Never edited once released; a test holds its digest.
 */
export const RIGHTS = `
CREATE OR REPLACE FUNCTION gateside_raise_horizon(moment timestamptz) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  -- No collector keeps less.
  wanted timestamptz := date_trunc('week', least(moment, now() - interval '840 hours'), 'UTC');
  risen timestamptz;
BEGIN
  UPDATE horizon SET before = wanted WHERE before < wanted RETURNING before INTO risen;
  IF risen IS NOT NULL THEN
    DELETE FROM gap WHERE received < risen;
  END IF;
  RETURN (SELECT before FROM horizon);
END $$;

-- Nothing outside of what any collector accepts: two years ahead, a hundred back.
CREATE OR REPLACE FUNCTION gateside_make_partitions(moment timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  here text := current_schema();
  parent text;
  child text;
  lower_bound timestamptz := date_trunc('week', moment, 'UTC');
  upper_bound timestamptz := date_trunc('week', moment, 'UTC') + interval '168 hours';
  made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('gateside'), hashtext('partitions'));
  IF lower_bound < (SELECT before FROM horizon) OR moment > now() + interval '731 days' OR moment < now() - interval '36600 days' THEN
    RETURN 0;
  END IF;
  FOREACH parent IN ARRAY ${WEEKLY} LOOP
    child := format('%s_%s', parent, to_char(lower_bound AT TIME ZONE 'UTC', 'YYYYMMDD'));
    IF to_regclass(format('%I.%I', here, child)) IS NULL THEN
      EXECUTE format('CREATE TABLE %I.%I (LIKE %I.%I INCLUDING ALL)', here, child, here, parent);
      IF parent = 'waveform' THEN
        EXECUTE format('ALTER TABLE %I.%I ALTER COLUMN data SET STORAGE EXTERNAL', here, child);
      END IF;
      EXECUTE format('ALTER TABLE %I.%I ATTACH PARTITION %I.%I FOR VALUES FROM (%L) TO (%L)', here, parent, here, child, lower_bound, upper_bound);
      made := made + 1;
    END IF;
  END LOOP;
  RETURN made;
END $$;

CREATE OR REPLACE FUNCTION gateside_drop_week(name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
DECLARE
  here text := current_schema();
  week leaving_week;
BEGIN
  SELECT * INTO week FROM leaving_week WHERE child = name;
  IF week.pending THEN
    EXECUTE format('ALTER TABLE %I.%I DETACH PARTITION %I.%I FINALIZE', here, week.parent, here, week.child);
  ELSIF week.attached THEN
    EXECUTE format('ALTER TABLE %I.%I DETACH PARTITION %I.%I', here, week.parent, here, week.child);
  END IF;
  IF week.child IS NOT NULL THEN
    EXECUTE format('DROP TABLE %I.%I', here, week.child);
  END IF;
END $$;

-- Whole months before the moment, of hours and days alike; returns how many of hours. Fails rather than wait for a reader.
CREATE OR REPLACE FUNCTION gateside_drop_hours(moment timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
DECLARE
  child pg_class;
  dropped integer := 0;
BEGIN
  FOR child IN
    SELECT c.* FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent IN ('hour_value'::regclass, 'day_value'::regclass)
      AND right(c.relname, 6) < to_char(least(moment, now() - interval '24 hours') AT TIME ZONE 'UTC', 'YYYYMM')
  LOOP
    EXECUTE format('DROP TABLE %s.%I', child.relnamespace::regnamespace, child.relname);
    dropped := dropped + (child.relname LIKE 'hour%')::integer;
  END LOOP;
  RETURN dropped;
END $$;

-- The same as for whole levels, but sensors are only those that were named; a site's others had their turn when they were.
CREATE FUNCTION gateside_join_names(sites text[], sensors text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  levels text[] := ARRAY(
    SELECT DISTINCT gateside_level(s) FROM unnest(sites) s WHERE gateside_level(s) <> s
      AND (EXISTS (SELECT FROM box b WHERE b.site = gateside_level(s)) OR EXISTS (SELECT FROM sensor n WHERE n.site = gateside_level(s)))
      AND NOT EXISTS (SELECT FROM stream t WHERE t.site = gateside_level(s)));
  named record;
BEGIN
  IF cardinality(levels) > 0 THEN
    PERFORM gateside_join_names(levels);
  END IF;
  FOR named IN
    SELECT DISTINCT ON (n.site, gateside_level(n.sensor)) n.site, n.sensor, gateside_level(n.sensor) AS level
    FROM unnest(sites, sensors) t(site, sensor)
    JOIN sensor n ON n.site = t.site AND gateside_level(n.sensor) = gateside_level(t.sensor) AND gateside_level(n.sensor) <> n.sensor
    WHERE gateside_level(t.sensor) <> t.sensor
    ORDER BY n.site, gateside_level(n.sensor), n.sensor
  LOOP
    CONTINUE WHEN EXISTS (SELECT FROM stream s WHERE s.site = named.site AND s.sensor = named.level);
    UPDATE sensor n SET state = coalesce(n.state, l.state), last_reading = coalesce(n.last_reading, l.last_reading), battery = coalesce(n.battery, l.battery),
      sensor_state = coalesce(n.sensor_state, l.sensor_state), state_received = coalesce(n.state_received, l.state_received),
      received = greatest(n.received, l.received)
    FROM sensor l WHERE n.site = named.site AND n.sensor = named.sensor AND l.site = named.site AND l.sensor = named.level;
    DELETE FROM sensor WHERE site = named.site AND sensor = named.level;
  END LOOP;
END $$;

-- A path without pg_temp is searched there first: a caller's temporary table or view would stand in for ours, with the owner's rights.
DO $$
DECLARE
  ours regprocedure;
BEGIN
  FOR ours IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND prosecdef AND proname LIKE 'gateside\\_%' LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', ours, current_schema());
  END LOOP;
END $$;
`;

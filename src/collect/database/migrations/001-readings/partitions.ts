/** Functions that make and drop the weeks of the partitioned tables. */
export const PARTITIONS = `-- One week of every table that is cut by time. Attaching takes no lock that a reader or writer would wait for.
CREATE FUNCTION gateside_make_partitions(moment timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  parent text;
  child text;
  lower_bound timestamptz := date_trunc('week', moment, 'UTC');
  upper_bound timestamptz := date_trunc('week', moment, 'UTC') + interval '168 hours';
  made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('gateside'), hashtext('partitions'));
  FOREACH parent IN ARRAY ARRAY['reading_accel', 'reading_current', 'reading_current_v2', 'reading_acc_current', 'reading_loop', 'reading_dry_contact', 'reading_rpm', 'reading_other', 'waveform', 'alarm_event'] LOOP
    child := format('%s_%s', parent, to_char(lower_bound AT TIME ZONE 'UTC', 'YYYYMMDD'));
    IF to_regclass(quote_ident(child)) IS NULL THEN
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', child, parent);
      IF parent = 'waveform' THEN
        -- Samples are noise to a compressor: kept outside the row as they are.
        EXECUTE format('ALTER TABLE %I ALTER COLUMN data SET STORAGE EXTERNAL', child);
      END IF;
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, lower_bound, upper_bound);
      made := made + 1;
    END IF;
  END LOOP;
  RETURN made;
END $$;

-- Weeks that ended before the moment. A table that a long query holds is dropped the next time.
CREATE FUNCTION gateside_drop_partitions(moment timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  child regclass;
  dropped integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('gateside'), hashtext('partitions'));
  PERFORM set_config('lock_timeout', '2s', true);
  FOR child IN
    SELECT i.inhrelid::regclass FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent IN (SELECT to_regclass(name) FROM unnest(ARRAY['reading_accel', 'reading_current', 'reading_current_v2', 'reading_acc_current', 'reading_loop', 'reading_dry_contact', 'reading_rpm', 'reading_other', 'waveform', 'alarm_event']) name)
      AND c.relname ~ '_\\d{8}$'
      AND to_timestamp(right(c.relname, 8) || ' +00', 'YYYYMMDD TZH') + interval '168 hours' <= moment
    ORDER BY c.relname
  LOOP
    BEGIN
      EXECUTE format('DROP TABLE %s', child);
      dropped := dropped + 1;
    EXCEPTION WHEN lock_not_available THEN
      RAISE NOTICE '% is in use', child;
    END;
  END LOOP;
  DELETE FROM gap WHERE received < moment;
  RETURN dropped;
END $$;

`;

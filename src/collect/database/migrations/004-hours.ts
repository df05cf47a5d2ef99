import { COMMENTS } from "./004-hours/comments.ts";
import { HOUR_VIEWS, settleFunction } from "./004-hours/hours.ts";

/** Hourly values. Never edited once released; a test holds its digest. */
export const HOURS = `
CREATE TABLE hour_series (
  series integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stream integer NOT NULL,
  value text NOT NULL,
  unit text,
  UNIQUE NULLS NOT DISTINCT (stream, value, unit)
);
COMMENT ON TABLE hour_series IS 'what an hourly value is of: a value of a sensor and kind, in one unit';
COMMENT ON COLUMN hour_series.series IS 'its number';
COMMENT ON COLUMN hour_series.stream IS 'sensor and kind: a row of stream';
COMMENT ON COLUMN hour_series.value IS 'the name of the value';
COMMENT ON COLUMN hour_series.unit IS 'the unit that the readings named; null for none';

CREATE TABLE hour_value (
  time timestamptz NOT NULL,
  series integer NOT NULL,
  count integer NOT NULL,
  uncertain integer NOT NULL,
  bad integer NOT NULL,
  min double precision,
  mean double precision,
  max double precision,
  -- A chart of years reads the index alone: the rows of a series lie far apart.
  PRIMARY KEY (series, time) INCLUDE (count, min, mean, max)
) PARTITION BY RANGE (time);
COMMENT ON TABLE hour_value IS 'hourly values, by month; those of hours in hour_mark are out of date, so query measurement_hour';
COMMENT ON COLUMN hour_value.time IS 'the start of the hour, UTC';
COMMENT ON COLUMN hour_value.series IS 'of what: a row of hour_series';
COMMENT ON COLUMN hour_value.count IS 'numbers, good and uncertain';
COMMENT ON COLUMN hour_value.uncertain IS 'uncertain ones among them';
COMMENT ON COLUMN hour_value.bad IS 'readings whose value was bad';
COMMENT ON COLUMN hour_value.min IS 'the smallest number';
COMMENT ON COLUMN hour_value.mean IS 'their mean; null if their sum is beyond a double';
COMMENT ON COLUMN hour_value.max IS 'the largest number';

-- A transaction that writes readings marks their hours in round 0. To compute hours anew, their marks are moved to round 1; once the transactions have
-- ended that relied on the old ones, nothing can be added without a new mark.
CREATE TABLE hour_mark (
  hour timestamptz NOT NULL,
  stream integer NOT NULL,
  round smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, stream, round)
);
COMMENT ON TABLE hour_mark IS 'hours whose stored values lack readings: measurement_hour computes them from the readings';
COMMENT ON COLUMN hour_mark.hour IS 'the start of the hour, UTC';
COMMENT ON COLUMN hour_mark.stream IS 'sensor and kind: a row of stream';
COMMENT ON COLUMN hour_mark.round IS '0: set by a writer; 1: being computed anew';

-- The mean from a sum in two parts: of ordinary numbers, and of huge ones divided by 2^100, which cannot overflow. PostgreSQL refuses a result that overflows
-- or underflows, so neither is asked for.
CREATE FUNCTION gateside_mean(small double precision, large double precision, count bigint) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN large IS NOT NULL THEN (
      SELECT CASE WHEN abs(total) <= 1.7976931348623157e308 * 7.888609052210118e-31::float8 THEN total / 7.888609052210118e-31 / count END
      FROM (SELECT large + CASE WHEN abs(small) > 1 THEN small * 7.888609052210118e-31 ELSE 0 END AS total) sum)
    WHEN small = 0 OR abs(small) >= 1e-300 THEN small / nullif(count, 0)
    WHEN abs(small * 1e20 / count) >= 2.48e-304 THEN small * 1e20 / count / 1e20
    WHEN small IS NOT NULL THEN 0 END
$$;

${HOUR_VIEWS}
${settleFunction}
-- Whole months before the moment. Fails rather than wait for a reader.
CREATE FUNCTION gateside_drop_hours(moment timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
DECLARE
  child text;
  dropped integer := 0;
BEGIN
  FOR child IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'hour_value'::regclass
      AND right(c.relname, 6) < to_char(moment AT TIME ZONE 'UTC', 'YYYYMM')
  LOOP
    EXECUTE format('DROP TABLE %I', child);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;

${COMMENTS}
-- What is stored already.
INSERT INTO hour_mark (hour, stream)
${["accel", "current", "current_v2", "acc_current", "loop", "dry_contact", "rpm", "other"]
  .map((kind) => `SELECT DISTINCT date_trunc('hour', time, 'UTC'), stream FROM reading_${kind}`)
  .join("\nUNION ALL ")};
`;

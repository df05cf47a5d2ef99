import { MARKED_HOUR, STORE_HOURS } from "./007-days/hours.ts";

/** Of hours h: a sum in two parts, as `gateside_mean` takes it. A day whose sum is beyond a double, or that of one of its hours, has no mean. */
const OF_HOURS = `sum(h.count)::bigint AS count, min(h.min) AS min,
  CASE WHEN NOT bool_or(h.count > 0 AND h.mean IS NULL) THEN gateside_mean(sum(h.mean * h.count) FILTER (WHERE abs(h.mean) < 1e280),
    sum(h.mean * 7.888609052210118e-31 * h.count) FILTER (WHERE abs(h.mean) >= 1e280), sum(h.count)::bigint) END AS mean,
  max(h.max) AS max, sum(h.uncertain)::bigint AS uncertain, sum(h.bad)::bigint AS bad`;

/** @param marks rows m of day and stream */
const storedHours = (marks: string) => `${marks}
JOIN hour_series n ON n.stream = m.stream
CROSS JOIN LATERAL (SELECT * FROM hour_value v WHERE v.series = n.series AND v.time >= m.day AND v.time < m.day + interval '24 hours' OFFSET 0) h`;

/** Makes the months of these times. Attaching takes no lock that a reader would wait for. */
const makeMonths = (table: string, times: string) => `
  FOR month IN SELECT DISTINCT date_trunc('month', t, 'UTC') FROM unnest(${times}) t LOOP
    child := '${table}_' || to_char(month AT TIME ZONE 'UTC', 'YYYYMM');
    IF to_regclass(child) IS NULL THEN
      EXECUTE format('CREATE TABLE %I (LIKE ${table} INCLUDING ALL)', child);
      EXECUTE format('ALTER TABLE ${table} ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', child, month,
        date_trunc('month', (month AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC');
    END IF;
  END LOOP;`;

/** Daily values. Never edited once released; a test holds its digest. */
export const DAYS = `
-- Nobody stores hours meanwhile: by the function as it was, their days would not be marked.
SET LOCAL lock_timeout = '10s';
SELECT pg_advisory_xact_lock(hashtext('gateside'), hashtext('hours'));
SET LOCAL lock_timeout = 0;

CREATE TABLE day_value (
  time timestamptz NOT NULL,
  series integer NOT NULL,
  count integer NOT NULL,
  uncertain integer NOT NULL,
  bad integer NOT NULL,
  min double precision,
  mean double precision,
  max double precision,
  PRIMARY KEY (series, time) INCLUDE (count, min, mean, max)
) PARTITION BY RANGE (time);
COMMENT ON TABLE day_value IS 'daily values, by month; those of days in marked_day are out of date, so query measurement_day';
COMMENT ON COLUMN day_value.time IS 'the start of the day, UTC';
COMMENT ON COLUMN day_value.series IS 'of what: a row of hour_series';
COMMENT ON COLUMN day_value.count IS 'numbers, good and uncertain';
COMMENT ON COLUMN day_value.uncertain IS 'uncertain ones among them';
COMMENT ON COLUMN day_value.bad IS 'readings whose value was bad';
COMMENT ON COLUMN day_value.min IS 'the smallest number';
COMMENT ON COLUMN day_value.mean IS 'their mean; null if their sum, or that of an hour, is beyond a double';
COMMENT ON COLUMN day_value.max IS 'the largest number';

-- Writers do not know days: what they mark are hours. A day is marked in the transaction that stores one of its hours, so it is marked until it is
-- stored itself, without a gap.
CREATE TABLE day_mark (
  day timestamptz NOT NULL,
  stream integer NOT NULL,
  PRIMARY KEY (day, stream)
);
COMMENT ON TABLE day_mark IS 'days whose stored values lack stored hours: measurement_day computes them from the hours';
COMMENT ON COLUMN day_mark.day IS 'the start of the day, UTC';
COMMENT ON COLUMN day_mark.stream IS 'sensor and kind: a row of stream';

CREATE VIEW marked_day AS
SELECT day, stream FROM day_mark UNION SELECT date_trunc('day', hour, 'UTC') AS day, stream FROM hour_mark;
COMMENT ON VIEW marked_day IS 'days whose stored values are out of date, or not there yet';
COMMENT ON COLUMN marked_day.day IS 'the start of the day, UTC';
COMMENT ON COLUMN marked_day.stream IS 'sensor and kind: a row of stream';

CREATE VIEW measurement_day AS
SELECT d.time, s.site, s.sensor, s.kind, n.value, n.unit, d.count::bigint AS count, d.min, d.mean, d.max, d.uncertain::bigint AS uncertain, d.bad::bigint AS bad
FROM day_value d JOIN hour_series n ON n.series = d.series JOIN stream s ON s.stream = n.stream
WHERE NOT EXISTS (SELECT FROM marked_day m WHERE m.day = d.time AND m.stream = n.stream)
UNION ALL
SELECT h.time, h.site, h.sensor, h.kind, h.value, h.unit, ${OF_HOURS}
FROM (
  SELECT m.day AS time, s.site, s.sensor, s.kind, n.value, n.unit, h.count::bigint AS count, h.min, h.mean, h.max, h.uncertain::bigint AS uncertain, h.bad::bigint AS bad
  FROM ${storedHours("marked_day m JOIN stream s ON s.stream = m.stream")}
  WHERE NOT EXISTS (SELECT FROM hour_mark o WHERE o.hour = h.time AND o.stream = n.stream)
  UNION ALL
  SELECT date_trunc('day', time, 'UTC'), site, sensor, kind, value, unit, count, min, mean, max, uncertain, bad FROM marked_hour
) h
GROUP BY h.time, h.site, h.sensor, h.kind, h.value, h.unit;
COMMENT ON VIEW measurement_day IS 'a row per value, unit and UTC day, right at every commit';
COMMENT ON COLUMN measurement_day.time IS 'the start of the day, UTC';
COMMENT ON COLUMN measurement_day.site IS 'the box that sent it';
COMMENT ON COLUMN measurement_day.sensor IS 'the sensor''s code';
COMMENT ON COLUMN measurement_day.kind IS 'the kind of the reading';
COMMENT ON COLUMN measurement_day.value IS 'the name of the value';
COMMENT ON COLUMN measurement_day.unit IS 'its unit; null for none';
COMMENT ON COLUMN measurement_day.count IS 'numbers, good and uncertain; each reading counts once';
COMMENT ON COLUMN measurement_day.min IS 'the smallest number';
COMMENT ON COLUMN measurement_day.mean IS 'the mean of the numbers; null if their sum, or that of an hour, is beyond a double';
COMMENT ON COLUMN measurement_day.max IS 'the largest number';
COMMENT ON COLUMN measurement_day.uncertain IS 'uncertain numbers among them';
COMMENT ON COLUMN measurement_day.bad IS 'readings whose value was bad';

CREATE OR REPLACE FUNCTION gateside_settle_hours(hours_max integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  hours timestamptz[];
  streams integer[];
  month timestamptz;
  child text;
BEGIN
  SELECT array_agg(hour), array_agg(stream) INTO hours, streams
  FROM (SELECT hour, stream FROM hour_mark WHERE round = 1 ORDER BY hour, stream LIMIT hours_max) m;
  IF hours IS NULL THEN
    RETURN 0;
  END IF;${makeMonths("hour_value", "hours")}${STORE_HOURS}
  INSERT INTO day_mark (day, stream)
  SELECT DISTINCT date_trunc('day', m.hour, 'UTC'), m.stream FROM unnest(hours, streams) m(hour, stream) ON CONFLICT DO NOTHING;
  DELETE FROM hour_mark d USING unnest(hours, streams) m(hour, stream) WHERE d.hour = m.hour AND d.stream = m.stream AND d.round = 1;
  RETURN cardinality(hours);
END $$;

-- Computes some of the marked days that are over from their stored hours; returns how many. One session at a time, the one that stores hours.
CREATE FUNCTION gateside_settle_days(days_max integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  days timestamptz[];
  streams integer[];
  month timestamptz;
  child text;
BEGIN
  SELECT array_agg(day), array_agg(stream) INTO days, streams
  FROM (SELECT day, stream FROM day_mark WHERE day <= now() - interval '24 hours' ORDER BY day, stream LIMIT days_max) m;
  IF days IS NULL THEN
    RETURN 0;
  END IF;${makeMonths("day_value", "days")}
  INSERT INTO day_value AS d (time, series, count, min, mean, max, uncertain, bad)
  SELECT m.day, n.series, ${OF_HOURS}
  FROM ${storedHours("unnest(days, streams) m(day, stream)")}
  GROUP BY m.day, n.series
  ON CONFLICT (series, time) DO UPDATE SET count = excluded.count, uncertain = excluded.uncertain, bad = excluded.bad,
    min = excluded.min, mean = excluded.mean, max = excluded.max;
  DELETE FROM day_mark d USING unnest(days, streams) m(day, stream) WHERE d.day = m.day AND d.stream = m.stream;
  RETURN cardinality(days);
END $$;

-- Whole months before the moment, of hours and days alike; returns how many of hours. Fails rather than wait for a reader.
CREATE OR REPLACE FUNCTION gateside_drop_hours(moment timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
DECLARE
  child text;
  dropped integer := 0;
BEGIN
  FOR child IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent IN ('hour_value'::regclass, 'day_value'::regclass)
      AND right(c.relname, 6) < to_char(moment AT TIME ZONE 'UTC', 'YYYYMM')
  LOOP
    EXECUTE format('DROP TABLE %I', child);
    dropped := dropped + (child LIKE 'hour%')::integer;
  END LOOP;
  RETURN dropped;
END $$;

-- What is stored already.
INSERT INTO day_mark (day, stream)
SELECT DISTINCT date_trunc('day', h.time, 'UTC'), n.stream FROM hour_value h JOIN hour_series n ON n.series = h.series;

${MARKED_HOUR}`;

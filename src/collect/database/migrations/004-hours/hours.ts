/** Hourly values of marked hours from their readings, and everything that is made of them. */
import { FIRST_KINDS, type FirstKind, type FirstValue } from "../001-readings/kinds.ts";

const zone = (text: string) =>
  `CASE WHEN ${text} IN ('A', 'B', 'C', 'D') THEN strpos('ABCD', ${text})::double precision END`;

function columnNumber({ name, type }: FirstValue): string {
  if (type === "text") return `('${name}', ${zone(`r.${name}`)})`;
  if (type === "boolean") return `('${name}', r.${name}::integer::double precision)`;
  return `('${name}', r.${name})`;
}

/** Texts have no hourly values, even bad ones. */
const MORE = `SELECT j.key AS value, CASE jsonb_typeof(j.content)
      WHEN 'number' THEN (j.content #>> '{}')::double precision
      WHEN 'boolean' THEN (j.content #>> '{}')::boolean::integer::double precision
      WHEN 'string' THEN ${zone("j.content #>> '{}'")} END AS number
    FROM jsonb_each(r.more->'values') j(key, content)
    WHERE jsonb_typeof(j.content) IN ('number', 'boolean', 'null') OR j.key LIKE '%\\_zone' AND j.content #>> '{}' IN ('A', 'B', 'C', 'D')`;

const values = ({ values: columns }: FirstKind) =>
  columns.length === 0
    ? `(${MORE}) `
    : `(SELECT * FROM (VALUES ${columns.map(columnNumber).join(", ")}) c(value, number)
    UNION ALL ${MORE}) `;

/** @param marks rows m of hour and stream */
const ofKind = (
  marks: string,
  kind: FirstKind,
) => `SELECT m.hour AS time, s.site, s.sensor, s.kind, m.stream, v.value,
  coalesce(r.more->'units'->>v.value, u.units->>v.value) AS unit,
  count(n.good) AS count, min(n.good) AS min,
  gateside_mean(sum(n.good) FILTER (WHERE abs(n.good) < 1e290), sum(n.good * 7.888609052210118e-31) FILTER (WHERE abs(n.good) >= 1e290), count(n.good)) AS mean,
  max(n.good) AS max, count(n.good) FILTER (WHERE n.quality = 'uncertain') AS uncertain, count(*) FILTER (WHERE n.quality = 'bad') AS bad
FROM ${marks}
JOIN stream s ON s.stream = m.stream AND ${kind.kind === null ? `s.kind NOT IN (${KINDS})` : `s.kind = '${kind.kind}'`}
CROSS JOIN LATERAL (SELECT * FROM ${kind.table} t WHERE t.stream = m.stream AND t.time >= m.hour AND t.time < m.hour + interval '1 hour' OFFSET 0) r
LEFT JOIN unit_set u ON u.unit_set = r.unit_set
LEFT JOIN attribute_set a ON a.attribute_set = r.attribute_set
CROSS JOIN LATERAL ${values(kind)}v
CROSS JOIN LATERAL (SELECT r.quality->v.value->>'quality' AS quality, CASE WHEN r.quality->v.value->>'quality' IS DISTINCT FROM 'bad' THEN v.number END AS good) n
WHERE (n.good IS NOT NULL OR n.quality = 'bad')
  AND (coalesce(a.attributes->'flags', r.attributes->'flags') ? 'time_in_future') IS NOT TRUE
GROUP BY m.hour, s.site, s.sensor, s.kind, m.stream, v.value, coalesce(r.more->'units'->>v.value, u.units->>v.value)`;

const KINDS = FIRST_KINDS.flatMap(({ kind }) => (kind === null ? [] : [`'${kind}'`])).join(", ");

const fromReadings = (marks: string) =>
  FIRST_KINDS.map((kind) => ofKind(marks, kind)).join("\nUNION ALL\n");

export const HOUR_VIEWS = `CREATE VIEW marked_hour AS
${fromReadings("(SELECT DISTINCT hour, stream FROM hour_mark) m")};
COMMENT ON VIEW marked_hour IS 'hourly values of the hours in hour_mark, computed from their readings';

CREATE VIEW measurement_hour AS
SELECT h.time, s.site, s.sensor, s.kind, n.value, n.unit, h.count::bigint AS count, h.min, h.mean, h.max, h.uncertain::bigint AS uncertain, h.bad::bigint AS bad
FROM hour_value h JOIN hour_series n ON n.series = h.series JOIN stream s ON s.stream = n.stream
WHERE NOT EXISTS (SELECT FROM hour_mark m WHERE m.hour = h.time AND m.stream = n.stream)
UNION ALL
SELECT time, site, sensor, kind, value, unit, count, min, mean, max, uncertain, bad FROM marked_hour;
`;

/** Computes some of the hours of round 1 anew; returns how many. One session at a time. */
export const settleFunction = `CREATE FUNCTION gateside_settle_hours(hours_max integer) RETURNS integer
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
  END IF;
  FOR month IN SELECT DISTINCT date_trunc('month', hour, 'UTC') FROM unnest(hours) hour LOOP
    child := 'hour_value_' || to_char(month AT TIME ZONE 'UTC', 'YYYYMM');
    IF to_regclass(child) IS NULL THEN
      EXECUTE format('CREATE TABLE %I PARTITION OF hour_value FOR VALUES FROM (%L) TO (%L)', child, month,
        date_trunc('month', (month AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC');
    END IF;
  END LOOP;
  WITH fresh AS MATERIALIZED (
${fromReadings("unnest(hours, streams) m(hour, stream)")}
  ), added AS (
    INSERT INTO hour_series (stream, value, unit)
    SELECT DISTINCT f.stream, f.value, f.unit FROM fresh f
    WHERE NOT EXISTS (SELECT FROM hour_series n WHERE n.stream = f.stream AND n.value = f.value AND n.unit IS NOT DISTINCT FROM f.unit)
    RETURNING series, stream, value, unit
  )
  INSERT INTO hour_value AS h (time, series, count, uncertain, bad, min, mean, max)
  SELECT f.time, coalesce(
      (SELECT n.series FROM hour_series n WHERE n.stream = f.stream AND n.value = f.value AND n.unit IS NOT DISTINCT FROM f.unit),
      (SELECT n.series FROM added n WHERE n.stream = f.stream AND n.value = f.value AND n.unit IS NOT DISTINCT FROM f.unit)),
    f.count, f.uncertain, f.bad, f.min, f.mean, f.max
  FROM fresh f
  ON CONFLICT (series, time) DO UPDATE SET count = excluded.count, uncertain = excluded.uncertain, bad = excluded.bad,
    min = excluded.min, mean = excluded.mean, max = excluded.max;
  DELETE FROM hour_mark d USING unnest(hours, streams) m(hour, stream) WHERE d.hour = m.hour AND d.stream = m.stream AND d.round = 1;
  RETURN cardinality(hours);
END $$;
`;

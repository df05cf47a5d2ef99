/**
 * Hourly values of marked hours from their readings, as step 4 defines them. The names of a kind's values are a relation beside its readings: a
 * query of few values computes only these, where step 4 unfolds every reading into all of its values first.
 */
import { FIRST_KINDS, type FirstKind, type FirstValue } from "../001-readings/kinds.ts";

const KINDS = FIRST_KINDS.flatMap(({ kind }) => (kind === null ? [] : [`'${kind}'`])).join(", ");
const zone = (text: string) =>
  `CASE WHEN ${text} IN ('A', 'B', 'C', 'D') THEN strpos('ABCD', ${text})::double precision END`;

function columnNumber({ name, type }: FirstValue): string {
  if (type === "text") return zone(`r.${name}`);
  return type === "boolean" ? `r.${name}::integer::double precision` : `r.${name}`;
}

/** @param marks rows m of hour and stream */
const readings = (marks: string, { kind, table }: FirstKind, where = "") => `FROM ${marks}
  JOIN stream s ON s.stream = m.stream AND ${kind === null ? `s.kind NOT IN (${KINDS})` : `s.kind = '${kind}'`}
  CROSS JOIN LATERAL (SELECT * FROM ${table} t WHERE t.stream = m.stream AND t.time >= m.hour AND t.time < m.hour + interval '1 hour'${where} OFFSET 0) r
  LEFT JOIN unit_set u ON u.unit_set = r.unit_set
  LEFT JOIN attribute_set a ON a.attribute_set = r.attribute_set`;

const row = (value: string, number: string) =>
  `SELECT m.hour, s.site, s.sensor, s.kind, m.stream, ${value} AS value, coalesce(r.more->'units'->>${value}, u.units->>${value}) AS unit, ${number} AS number,
    r.quality->${value}->>'quality' AS quality, coalesce(a.attributes->'flags', r.attributes->'flags') AS flags`;

const fromColumns = (marks: string, kind: FirstKind) =>
  `${row("c.value", `CASE c.n ${kind.values.map((value, n) => `WHEN ${n} THEN ${columnNumber(value)}`).join(" ")} END`)}
  ${readings(marks, kind)}
  CROSS JOIN (VALUES ${kind.values.map(({ name }, n) => `(${n}, '${name}')`).join(", ")}) c(n, value)`;

/** Texts have no hourly values, even bad ones. */
const fromMore = (marks: string, kind: FirstKind) =>
  `${row(
    "j.value",
    `CASE jsonb_typeof(j.content)
      WHEN 'number' THEN (j.content #>> '{}')::double precision
      WHEN 'boolean' THEN (j.content #>> '{}')::boolean::integer::double precision
      WHEN 'string' THEN ${zone("j.content #>> '{}'")} END`,
  )}
  ${readings(marks, kind, " AND t.more IS NOT NULL")}
  CROSS JOIN LATERAL jsonb_each(r.more->'values') j(value, content)
  WHERE jsonb_typeof(j.content) IN ('number', 'boolean', 'null') OR j.value LIKE '%\\_zone' AND j.content #>> '{}' IN ('A', 'B', 'C', 'D')`;

const ofKind = (
  marks: string,
  kind: FirstKind,
) => `SELECT v.hour AS time, v.site, v.sensor, v.kind, v.stream, v.value, v.unit,
  count(n.good) AS count, min(n.good) AS min,
  gateside_mean(sum(n.good) FILTER (WHERE abs(n.good) < 1e290), sum(n.good * 7.888609052210118e-31) FILTER (WHERE abs(n.good) >= 1e290), count(n.good)) AS mean,
  max(n.good) AS max, count(n.good) FILTER (WHERE v.quality = 'uncertain') AS uncertain, count(*) FILTER (WHERE v.quality = 'bad') AS bad
FROM (
  ${[...(kind.values.length > 0 ? [fromColumns(marks, kind)] : []), fromMore(marks, kind)].join("\n  UNION ALL\n  ")}
) v
CROSS JOIN LATERAL (SELECT CASE WHEN v.quality IS DISTINCT FROM 'bad' THEN v.number END AS good) n
WHERE (n.good IS NOT NULL OR v.quality = 'bad') AND (v.flags ? 'time_in_future') IS NOT TRUE
GROUP BY v.hour, v.site, v.sensor, v.kind, v.stream, v.value, v.unit`;

const fromReadings = (marks: string) =>
  FIRST_KINDS.map((kind) => ofKind(marks, kind)).join("\nUNION ALL\n");

export const MARKED_HOUR = `CREATE OR REPLACE VIEW marked_hour AS
${fromReadings("(SELECT DISTINCT hour, stream FROM hour_mark) m")};
`;

/** Of the arrays `hours` and `streams` of a function. */
export const STORE_HOURS = `
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
    min = excluded.min, mean = excluded.mean, max = excluded.max;`;

/** What people query: a line per value, the newest, and a line per reading. */
import { FIRST_KINDS, type FirstKind, type FirstValue } from "./kinds.ts";

const NUMBER_OF_JSON =
  "CASE jsonb_typeof(v.content) WHEN 'number' THEN (v.content #>> '{}')::double precision WHEN 'boolean' THEN (v.content #>> '{}')::boolean::integer::double precision END";
const TEXT_OF_JSON =
  "CASE WHEN jsonb_typeof(v.content) IN ('string', 'boolean') THEN v.content #>> '{}' END";
const ID = "replace(r.id::text, '-', '') AS id";

const kindOf = (kind: string | null) => (kind === null ? "s.kind" : `'${kind}'::text`);

const from = ({ kind, table }: FirstKind) => `FROM ${table} r
JOIN stream s ON s.stream = r.stream${kind === null ? "" : ` AND s.kind = '${kind}'`}
LEFT JOIN unit_set u ON u.unit_set = r.unit_set
`;

/** Lines of `measurement` up to its values; `number` and `text` say how they are made. */
const measured = (kind: FirstKind, number: string, text: string) =>
  `SELECT r.time, s.site, s.sensor, ${kindOf(kind.kind)} AS kind, v.value AS value, ${number} AS number,
  coalesce(r.more->'units'->>v.value, u.units->>v.value) AS unit,
  coalesce(r.quality->v.value->>'quality', 'good') AS quality,
  r.quality->v.value->>'reason' AS reason, ${text} AS text, ${ID}
${from(kind)}`;

function columnLine({ name, type }: FirstValue): string {
  if (type === "text") return `('${name}', strpos('ABCD', r.${name})::double precision, r.${name})`;
  if (type === "boolean")
    return `('${name}', r.${name}::integer::double precision, r.${name}::text)`;
  return `('${name}', r.${name}, NULL::text)`;
}

const fromColumns = (
  kind: FirstKind,
) => `${measured(kind, "v.number", "v.text")}CROSS JOIN LATERAL (VALUES
    ${kind.values.map(columnLine).join(",\n    ")}
  ) v(value, number, text)
WHERE v.number IS NOT NULL OR r.quality ? v.value`;

/** Values that have no column of their own. */
const fromMore = (
  kind: FirstKind,
) => `${measured(kind, NUMBER_OF_JSON, TEXT_OF_JSON)}CROSS JOIN LATERAL jsonb_each(r.more->'values') v(value, content)
WHERE r.more ? 'values'`;

const MEASUREMENT = `-- A line per value of a reading. Zones are 1 to 4, contacts 0 or 1; \`text\` has both as they were sent.
CREATE VIEW measurement AS
${FIRST_KINDS.flatMap((kind) =>
  kind.kind === null ? [fromMore(kind)] : [fromColumns(kind), fromMore(kind)],
).join("\nUNION ALL\n")};

`;

const LATEST = `-- The newest reading of every sensor and kind, a line per value.
CREATE VIEW latest AS
SELECT l.time, s.site, s.sensor, s.kind, v.value,
  CASE WHEN jsonb_typeof(v.content) = 'number' THEN (v.content #>> '{}')::double precision
       WHEN jsonb_typeof(v.content) = 'boolean' THEN (v.content #>> '{}')::boolean::integer::double precision
       WHEN v.value LIKE '%\\_zone' AND v.content #>> '{}' IN ('A', 'B', 'C', 'D') THEN strpos('ABCD', v.content #>> '{}')::double precision END AS number,
  l.units->>v.value AS unit, coalesce(l.quality->v.value->>'quality', 'good') AS quality,
  l.quality->v.value->>'reason' AS reason,
  CASE WHEN jsonb_typeof(v.content) IN ('string', 'boolean') THEN v.content #>> '{}' END AS text, replace(l.id::text, '-', '') AS id
FROM latest_reading l
JOIN stream s ON s.stream = l.stream
CROSS JOIN LATERAL jsonb_each(l."values") v(value, content);

`;

const objectOf = (values: readonly FirstValue[]) =>
  values.length === 0
    ? "'{}'::jsonb"
    : `jsonb_strip_nulls(jsonb_build_object(${values.map(({ name }) => `'${name}', r.${name}`).join(", ")}))`;

const timesOf = ({ times }: FirstKind) =>
  times.length === 0
    ? ""
    : ` || jsonb_strip_nulls(jsonb_build_object(${times
        .map(
          ({ attribute, column }) =>
            `'${attribute}', to_char(r.${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
        )
        .join(", ")}))`;

const readingOf = (
  kind: FirstKind,
) => `SELECT r.time, s.site, s.sensor, ${kindOf(kind.kind)} AS kind, ${ID},
  ${objectOf(kind.values)}
    || coalesce((SELECT jsonb_object_agg(q.key, NULL) FROM jsonb_object_keys(r.quality) q(key) WHERE r.quality->q.key->>'quality' = 'bad'), '{}')
    || coalesce(r.more->'values', '{}') AS "values",
  coalesce(r.more->'units', u.units, '{}') AS units, coalesce(r.quality, '{}') AS quality,
  coalesce(a.attributes, '{}')${timesOf(kind)} || coalesce(r.attributes, '{}') AS attributes, r.more->'raw' AS raw, r.historical
${from(kind)}LEFT JOIN attribute_set a ON a.attribute_set = r.attribute_set`;

const READING = `-- A line per reading, its members as they were published.
CREATE VIEW reading AS
${FIRST_KINDS.map(readingOf).join("\nUNION ALL\n")};
`;

export const VIEWS = MEASUREMENT + LATEST + READING;

/**
 * Times are whole milliseconds. Versions up to 0.2 stored events with fractions of one: their `hour` had a fraction
 * too, so that whatever looked for a row by its hour missed it, and a full buffer deleted pending events unseen.
 *
 * Triggers refuse any other type from now on. A CHECK would have to be added by writing the tables anew, which a Pi
 * with 2 GB of readings has neither the time nor the space for.
 */
const TIME_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  readings: ["time_ms", "stored_at_ms"],
  waveforms: ["time_ms"],
  outbox: ["hour", "time_ms"],
  live_marks: ["time_ms"],
  forgotten: ["hour", "time_ms"],
  gaps: ["from_ms", "to_ms"],
  lanes: ["fill_hour"],
  commands: ["received_at_ms", "finished_at_ms"],
  alarm_actions: ["time_ms"],
  audit: ["time_ms", "last_ms"],
};

function triggersOf(table: string, columns: readonly string[]): string {
  const isOther = columns.map((column) => `typeof(NEW.${column}) NOT IN ('integer', 'null')`);
  const body = `WHEN ${isOther.join(" OR ")}
  BEGIN SELECT RAISE(ABORT, '${table}: a time is no whole number'); END;`;
  return `CREATE TRIGGER ${table}_inserted_times BEFORE INSERT ON ${table} ${body}
CREATE TRIGGER ${table}_updated_times BEFORE UPDATE OF ${columns.join(", ")} ON ${table} ${body}`;
}

const wholeIn = (table: string, columns: readonly string[]) =>
  columns
    .map(
      (column) =>
        `UPDATE ${table} SET ${column} = CAST(${column} AS INTEGER) WHERE typeof(${column}) = 'real';`,
    )
    .join("\n");

/** One seek for each stored hour, where reading all rows would take minutes: a fraction shows in the hour. */
const wholeByHour = (table: string) => `
UPDATE ${table} SET time_ms = CAST(time_ms AS INTEGER) WHERE hour IN (
  WITH RECURSIVE hours (hour) AS (
    SELECT min(hour) FROM ${table}
    UNION ALL SELECT (SELECT min(t.hour) FROM ${table} t WHERE t.hour > hours.hour) FROM hours
    WHERE hours.hour IS NOT NULL
  )
  SELECT hour FROM hours WHERE typeof(hour) = 'real'
);`;

const OTHERS = Object.entries(TIME_COLUMNS).filter(
  ([table]) => table !== "readings" && table !== "waveforms",
);

export const sql = /* sql */ `
${wholeByHour("readings")}
${wholeByHour("waveforms")}
${OTHERS.map(([table, columns]) => wholeIn(table, columns)).join("\n")}

-- Rows whose reading was deleted unseen, searched in the index by hour only. Each uplink's loss is told once,
-- whatever the number of its formats; samples without their reading are no loss of their own.
CREATE TEMP TABLE lost AS
  SELECT o.*, s.kind, l.uplink, l.format,
    CASE WHEN s.kind = 'event' THEN 'buffer_full' ELSE 'damaged' END AS reason
  FROM main.outbox o LEFT JOIN main.streams s ON s.stream = o.stream LEFT JOIN main.lanes l ON l.lane = o.lane
  WHERE NOT EXISTS (SELECT 1 FROM main.readings r INDEXED BY readings_by_hour
    WHERE r.hour = o.hour AND r.stream = o.stream AND r.time_ms = o.time_ms AND r.seq = o.seq);
DELETE FROM outbox WHERE (lane, hour, stream, time_ms, seq) IN (SELECT lane, hour, stream, time_ms, seq FROM lost);
DELETE FROM lost WHERE kind IS NULL OR uplink IS NULL OR format IN ('waveform', 'sparkplugWaveform');
INSERT INTO gaps (stream, from_ms, to_ms, count, reason, uplink)
  SELECT stream, min(time_ms), max(time_ms), count(DISTINCT seq), reason, uplink FROM lost GROUP BY stream, uplink;
INSERT INTO meta (name, value)
  SELECT 'dropped', json_group_object(reason, count) FROM (SELECT reason, count(DISTINCT seq) AS count FROM lost GROUP BY reason)
  WHERE EXISTS (SELECT 1 FROM lost)
  ON CONFLICT DO UPDATE SET value = (
    SELECT json_group_object(key, total) FROM (
      SELECT key, sum(value) AS total FROM (
        SELECT key, value FROM json_each(meta.value) UNION ALL SELECT key, value FROM json_each(excluded.value)
      ) GROUP BY key
    )
  );
DROP TABLE temp.lost;

${Object.entries(TIME_COLUMNS)
  .map(([table, columns]) => triggersOf(table, columns))
  .join("\n")}
`;

export const back = Object.keys(TIME_COLUMNS)
  .map((table) => `DROP TRIGGER ${table}_inserted_times; DROP TRIGGER ${table}_updated_times;`)
  .join("\n");

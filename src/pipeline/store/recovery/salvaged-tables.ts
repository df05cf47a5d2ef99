export interface SalvagedTable {
  readonly name: string;
  readonly columns: string;
  readonly order: string;
  /** Columns of a unique index that contains all the others: it may be readable if the table is not. */
  readonly index?: string;
}

/**
 * Readings come first: rows that refer to them are useful only with them. Poll progress is left out, so that lost days
 * are read again.
 */
export const TABLES: readonly SalvagedTable[] = [
  { name: "meta", columns: "name, value", order: "name" },
  { name: "streams", columns: "stream, sensor, kind", order: "stream", index: "sensor, kind" },
  { name: "unit_sets", columns: "unit_set, units", order: "unit_set", index: "units" },
  {
    name: "readings",
    columns: `seq, stream, time_ms, id, is_future, offset_minutes, stored_at_ms, unit_set, "values", quality, attributes, raw, waveforms`,
    order: "seq",
  },
  {
    name: "waveforms",
    columns:
      "file_id, stream, time_ms, reading_id, channel, axis, sample_rate_hz, calibration, recording_reason, sample_count, encoding, samples",
    order: "file_id",
  },
  {
    name: "outbox",
    columns: "lane, hour, stream, time_ms, seq, is_future",
    order: "lane, hour, stream, time_ms, seq",
  },
  { name: "live_marks", columns: "lane, stream, time_ms", order: "lane, stream" },
  {
    name: "forgotten",
    columns: "hour, stream, time_ms, hash",
    order: "hour, stream, time_ms, hash",
  },
  { name: "hour_series", columns: "series, stream, value, unit", order: "series" },
  { name: "hours", columns: "place, upto, body", order: "place" },
  { name: "days", columns: "place, upto, body", order: "place" },
  { name: "day_medians", columns: "place, body", order: "place" },
  { name: "gaps", columns: "gap, stream, from_ms, to_ms, count, reason, uplink", order: "gap" },
  {
    name: "lanes",
    columns: "lane, uplink, format, leaving, fill_seq, fill_hour",
    order: "lane",
    index: "uplink, format, lane",
  },
  {
    name: "commands",
    columns:
      "command, received_at_ms, key, sensor, source, payload, outcome, status_number, description, finished_at_ms",
    order: "command",
  },
  {
    name: "kept_measurements",
    columns: `reading_id, stream, time_ms, ladder, rank, bytes, running, counts_as_running, speed_rpm, usual_rpm, seq, offset_minutes, stored_at_ms, unit_set, "values", quality, attributes, raw, waveforms`,
    order: "stream, time_ms, reading_id",
  },
  {
    name: "kept_samples",
    columns:
      "file_id, stream, time_ms, reading_id, channel, axis, sample_rate_hz, calibration, recording_reason, sample_count, encoding, samples",
    order: "file_id",
  },
  {
    name: "kept_marks",
    columns: "stream, time_ms, reading_id, why, subject, note, rank, bytes",
    order: "stream, time_ms, reading_id, why, subject",
  },
  { name: "alarm_states", columns: "sensor, state", order: "sensor" },
  { name: "alarm_samples", columns: 'sensor, number, "values"', order: "sensor, number" },
  {
    name: "waiting",
    columns: "queue, number, time_ms, since_ms, text",
    order: "queue, number",
  },
  {
    name: "alarm_actions",
    columns: "action, time_ms, who, source, what, subject, detail, outcome",
    order: "action",
  },
  {
    name: "audit",
    columns: "entry, time_ms, who, address, what, detail, outcome, refused, times, last_ms, person",
    order: "entry",
  },
];

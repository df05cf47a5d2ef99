/**
 * Measurements that stay for years. A roll-back keeps these tables, and the next upgrade finds them.
 *
 * The columns of samples and readings are those of `waveforms` and `readings`; file ids are those of `waveforms`, which
 * never assigns one twice.
 */
const whole = (table: string, column: string) =>
  `CONSTRAINT "${table}: a time is no whole number" CHECK (typeof(${column}) = 'integer')`;

export const sql = /* sql */ `
CREATE TABLE IF NOT EXISTS kept_measurements (
  reading_id BLOB NOT NULL,
  stream INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  -- 1 the best of its day, 2 of its week, 3 of its month; 0 is kept by marks only.
  ladder INTEGER NOT NULL,
  -- The order in which they go when room is short: 1 to 3 as above, 4 alarms, 5 must stay.
  rank INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  -- The machine then: 1 running, 0 standing, null unknown; and whether it counts as running.
  running INTEGER,
  counts_as_running INTEGER NOT NULL,
  speed_rpm REAL,
  usual_rpm REAL,
  seq INTEGER NOT NULL,
  offset_minutes INTEGER,
  stored_at_ms INTEGER NOT NULL,
  unit_set INTEGER NOT NULL,
  "values" TEXT NOT NULL,
  quality TEXT NOT NULL,
  attributes TEXT NOT NULL,
  raw TEXT NOT NULL,
  waveforms TEXT NOT NULL,
  PRIMARY KEY (stream, time_ms, reading_id),
  ${whole("kept_measurements", "time_ms")},
  ${whole("kept_measurements", "stored_at_ms")}
);
CREATE INDEX IF NOT EXISTS kept_by_rank ON kept_measurements (rank, time_ms, bytes);
CREATE INDEX IF NOT EXISTS kept_by_rung ON kept_measurements (ladder, time_ms);
CREATE INDEX IF NOT EXISTS kept_by_id ON kept_measurements (reading_id);

CREATE TABLE IF NOT EXISTS kept_samples (
  file_id INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  reading_id BLOB NOT NULL,
  channel INTEGER NOT NULL,
  axis TEXT NOT NULL,
  sample_rate_hz REAL NOT NULL,
  calibration REAL NOT NULL,
  recording_reason INTEGER,
  sample_count INTEGER NOT NULL,
  encoding INTEGER NOT NULL,
  samples BLOB NOT NULL,
  ${whole("kept_samples", "time_ms")}
);

-- Why a measurement is kept beside the ladder, also while it is young.
CREATE TABLE IF NOT EXISTS kept_marks (
  stream INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  reading_id BLOB NOT NULL,
  why TEXT NOT NULL,
  -- The alarm, finding or baseline, with its sensor and value; empty for pins.
  subject TEXT NOT NULL,
  note TEXT,
  -- 4, or 5 for what must stay: pins, baselines, the first of an alarm.
  rank INTEGER NOT NULL,
  -- Of a young pin, for which room is held.
  bytes INTEGER NOT NULL,
  PRIMARY KEY (stream, time_ms, reading_id, why, subject),
  ${whole("kept_marks", "time_ms")}
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS kept_marks_by_why ON kept_marks (why, subject);
`;

/** The first schema. Released steps are never edited: a change is a new file. */
export const sql = /* sql */ `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE streams (
  stream INTEGER PRIMARY KEY,
  sensor TEXT NOT NULL,
  kind TEXT NOT NULL,
  UNIQUE (sensor, kind)
);

CREATE TABLE unit_sets (unit_set INTEGER PRIMARY KEY, units TEXT NOT NULL UNIQUE);

-- is_future: the gateway's clock was ahead; such readings never go live.
-- waveforms: "file_id:channel:axis,…" of the stored axes, or null.
CREATE TABLE readings (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  stream INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  id BLOB NOT NULL,
  is_future INTEGER NOT NULL,
  offset_minutes INTEGER,
  stored_at_ms INTEGER NOT NULL,
  unit_set INTEGER NOT NULL,
  "values" TEXT NOT NULL,
  quality TEXT NOT NULL,
  attributes TEXT NOT NULL,
  raw TEXT NOT NULL,
  waveforms TEXT,
  hour INTEGER NOT NULL AS (time_ms / 3600000) VIRTUAL
);
CREATE INDEX readings_by_hour ON readings (hour, stream, time_ms);

CREATE TABLE waveforms (
  file_id INTEGER PRIMARY KEY AUTOINCREMENT,
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
  hour INTEGER NOT NULL AS (time_ms / 3600000) VIRTUAL
);
CREATE INDEX waveforms_by_hour ON waveforms (hour, stream, time_ms);

CREATE TABLE staged_waveforms (file_id INTEGER PRIMARY KEY);

CREATE TABLE day_progress (
  day TEXT NOT NULL,
  stream INTEGER NOT NULL,
  checkpoint TEXT,
  records INTEGER NOT NULL,
  PRIMARY KEY (day, stream)
) WITHOUT ROWID;

CREATE TABLE outbox (
  lane INTEGER NOT NULL,
  hour INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  is_future INTEGER NOT NULL,
  PRIMARY KEY (lane, hour, stream, time_ms, seq)
) WITHOUT ROWID;

CREATE TABLE live_marks (
  lane INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  PRIMARY KEY (lane, stream)
) WITHOUT ROWID;

-- hash: the first 48 bits of the id.
CREATE TABLE forgotten (
  hour INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  hash INTEGER NOT NULL,
  PRIMARY KEY (hour, stream, time_ms, hash)
) WITHOUT ROWID;

CREATE TABLE gaps (
  gap INTEGER PRIMARY KEY AUTOINCREMENT,
  stream INTEGER NOT NULL,
  from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL,
  count INTEGER NOT NULL,
  reason TEXT NOT NULL
);

CREATE TABLE commands (
  command INTEGER PRIMARY KEY AUTOINCREMENT,
  received_at_ms INTEGER NOT NULL,
  key TEXT NOT NULL,
  sensor TEXT NOT NULL,
  source TEXT NOT NULL,
  payload TEXT NOT NULL,
  outcome TEXT,
  status_number INTEGER,
  description TEXT,
  finished_at_ms INTEGER
);
CREATE INDEX commands_by_key ON commands (key, received_at_ms);
CREATE INDEX commands_by_sensor ON commands (sensor, outcome, command);
`;

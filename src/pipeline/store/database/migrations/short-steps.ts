/** The steps of the schema that are short; each of the others has a file. A written step never changes. */

/** The state of the alarms. Events themselves are rows of `readings` with the kind `event`, pending like readings. */
export const alarms = /* sql */ `
-- state: JSON of the alarm engine, for sensors that have something to remember.
CREATE TABLE alarm_states (sensor TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID;

-- What baselines learn from, until they are learned.
CREATE TABLE alarm_samples (
  sensor TEXT NOT NULL,
  number INTEGER NOT NULL,
  "values" TEXT NOT NULL,
  PRIMARY KEY (sensor, number)
) WITHOUT ROWID;

-- The audit: who said what of which alarm, and whether it was taken.
CREATE TABLE alarm_actions (
  action INTEGER PRIMARY KEY AUTOINCREMENT,
  time_ms INTEGER NOT NULL,
  who TEXT NOT NULL,
  source TEXT NOT NULL,
  what TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT NOT NULL,
  outcome TEXT NOT NULL
);

-- Events never go live, and few readings are dated into the future: the way to the newest events.
CREATE INDEX readings_never_live ON readings (seq) WHERE is_future = 1;
`;

/** Who changed what, and when. */
export const audit = /* sql */ `
CREATE TABLE audit (
  entry INTEGER PRIMARY KEY AUTOINCREMENT,
  time_ms INTEGER NOT NULL,
  who TEXT NOT NULL,
  address TEXT NOT NULL,
  what TEXT NOT NULL,
  detail TEXT NOT NULL,
  outcome TEXT NOT NULL
);
`;

/** Refused changes have a separate share of the audit log, and repeated ones are counted in one entry. */
export const auditShares = /* sql */ `
ALTER TABLE audit ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN times INTEGER NOT NULL DEFAULT 1;
-- Of the newest of them; null where there is one.
ALTER TABLE audit ADD COLUMN last_ms INTEGER;
UPDATE audit SET refused = 1 WHERE outcome GLOB '4[0-9][0-9]' OR outcome IN ('501', 'refused');
CREATE INDEX audit_shares ON audit (refused, entry);
`;

/** Readings that wait until the state and speed of their machine are known for their time. */
export const waiting = /* sql */ `
CREATE TABLE waiting (
  -- What waits for what: purpose, order, kind and sensor.
  queue TEXT NOT NULL,
  -- Ascending in the order of arrival, over all queues.
  number INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  -- The agent's running time at its arrival.
  since_ms INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (queue, number),
  CONSTRAINT "waiting: a time is no whole number" CHECK (typeof(time_ms) = 'integer' AND typeof(since_ms) = 'integer')
) WITHOUT ROWID;
`;

/** The person whom a proxy named; and the sessions that outlive a restart, by the digest of their key. */
export const people = /* sql */ `
ALTER TABLE audit ADD COLUMN person TEXT;
CREATE TABLE sessions (
  name TEXT PRIMARY KEY,
  -- Two bytes of the digest of the token it was opened with.
  token INTEGER NOT NULL,
  last_used_ms INTEGER NOT NULL,
  CONSTRAINT "sessions: a time is no whole number" CHECK (typeof(last_used_ms) = 'integer')
) WITHOUT ROWID;
`;

/**
 * Hourly values (features/hours). A roll-back keeps these tables: what they count may be stored nowhere else. What an older
 * program stored meanwhile is added by filing everything that is stored once more.
 */
export const hours = /* sql */ `
CREATE TABLE IF NOT EXISTS hour_series (
  series INTEGER PRIMARY KEY AUTOINCREMENT,
  stream INTEGER NOT NULL,
  value TEXT NOT NULL,
  -- Empty for none.
  unit TEXT NOT NULL,
  UNIQUE (stream, value, unit)
);
-- place: the hour (days: the day) since 1970 times 2^20, plus the stream.
-- upto: stored readings up to this one are counted; so is every reading that has left.
CREATE TABLE IF NOT EXISTS hours (place INTEGER PRIMARY KEY, upto INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS days (place INTEGER PRIMARY KEY, upto INTEGER NOT NULL, body BLOB NOT NULL);
-- Medians of the values that an outlook is told of, by day and stream as above: JSON (store/hours/day-medians.ts).
CREATE TABLE IF NOT EXISTS day_medians (place INTEGER PRIMARY KEY, body TEXT NOT NULL);
DELETE FROM meta WHERE name = 'hours' AND NOT EXISTS (SELECT 1 FROM hours) AND NOT EXISTS (SELECT 1 FROM days);
UPDATE meta SET value = json_set(value, '$.mark', NULL) WHERE name = 'hours';
`;

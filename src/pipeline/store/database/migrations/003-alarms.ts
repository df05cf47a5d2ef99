/** The state of the alarms. Events themselves are rows of `readings` with the kind `event`, pending like readings. */
export const sql = /* sql */ `
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

/**
 * Hourly values (store/hours). A roll-back keeps these tables: what they count may be stored nowhere else. What an older
 * program stored meanwhile is added by filing everything that is stored once more.
 */
export const sql = /* sql */ `
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

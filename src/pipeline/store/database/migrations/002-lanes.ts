/**
 * Lanes belong to uplinks. 0–4 are those of `main` as 0.1 numbered them: json, plain, waveform, sparkplug,
 * sparkplugWaveform; those in use are identified by their rows or marks.
 */
const RELEASED = ["json", "plain", "waveform", "sparkplug", "sparkplugWaveform"]
  .map((format, lane) => `(${lane}, '${format}')`)
  .join(", ");

/** Also for a store of 0.1 that is recovered from damage. */
export const LANES_OF_RELEASED_SQL = /* sql */ `
INSERT OR IGNORE INTO lanes (lane, uplink, format)
  SELECT column1, 'main', column2 FROM (VALUES ${RELEASED})
  WHERE EXISTS (SELECT 1 FROM outbox WHERE outbox.lane = column1)
    OR EXISTS (SELECT 1 FROM live_marks WHERE live_marks.lane = column1)
    OR (column1 = 0 AND EXISTS (SELECT 1 FROM readings));
`;

export const sql = /* sql */ `
-- leaving: why its rows are given up, where it is no longer configured.
-- fill_seq: readings up to this one are owed, too; of these the hours from fill_hour on are filed. Null when all are.
CREATE TABLE lanes (
  lane INTEGER PRIMARY KEY,
  uplink TEXT NOT NULL,
  format TEXT NOT NULL,
  leaving TEXT,
  fill_seq INTEGER,
  fill_hour INTEGER
);
CREATE UNIQUE INDEX lanes_in_use ON lanes (uplink, format) WHERE leaving IS NULL;
${LANES_OF_RELEASED_SQL}
-- Whose loss it is.
ALTER TABLE gaps ADD COLUMN uplink TEXT NOT NULL DEFAULT 'main';
`;

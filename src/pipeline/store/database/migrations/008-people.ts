/** The person whom a proxy named; and the sessions that outlive a restart, by the digest of their key. */
export const sql = /* sql */ `
ALTER TABLE audit ADD COLUMN person TEXT;
CREATE TABLE sessions (
  name TEXT PRIMARY KEY,
  -- Two bytes of the digest of the token it was opened with.
  token INTEGER NOT NULL,
  last_used_ms INTEGER NOT NULL,
  CONSTRAINT "sessions: a time is no whole number" CHECK (typeof(last_used_ms) = 'integer')
) WITHOUT ROWID;
`;

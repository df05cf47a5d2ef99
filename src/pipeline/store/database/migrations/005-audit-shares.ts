/** Refused changes have a separate share of the audit log, and repeated ones are counted in one entry. */
export const sql = /* sql */ `
ALTER TABLE audit ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN times INTEGER NOT NULL DEFAULT 1;
-- Of the newest of them; null where there is one.
ALTER TABLE audit ADD COLUMN last_ms INTEGER;
UPDATE audit SET refused = 1 WHERE outcome GLOB '4[0-9][0-9]' OR outcome IN ('501', 'refused');
CREATE INDEX audit_shares ON audit (refused, entry);
`;

/** Who changed what, and when. */
export const sql = /* sql */ `
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

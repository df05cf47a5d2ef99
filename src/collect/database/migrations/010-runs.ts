/** Two boxes with one identity. Never edited once released; a test holds its digest. */
export const RUNS = `
ALTER TABLE box ADD COLUMN runs text[], ADD COLUMN runs_time timestamptz;
COMMENT ON COLUMN box.runs IS 'the runs of two boxes that publish as this site; null if that was never seen';
COMMENT ON COLUMN box.runs_time IS 'when their messages alternated last';
`;

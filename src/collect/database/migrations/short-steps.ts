/** The steps of the schema that are short; each of the others has a file. */

/** What `gateside fleet` compares with now(), and readings of kind `bands`. Never edited once released; a test holds its digest. */
export const FLEET = `
ALTER TABLE box ADD COLUMN stats_received timestamptz;
COMMENT ON COLUMN box.stats_received IS 'when the statistics arrived';
UPDATE box SET stats_received = least(stats_time, received) WHERE stats IS NOT NULL;

-- How many bands there are and what they are called is the site file's own affair, so their values stay in one column.
CREATE VIEW reading_bands AS
SELECT r.time, r.id, r.stream, r.unit_set, r.attribute_set, r.historical, (r.more->'values'->>'speed_rpm')::double precision AS speed_rpm,
  r.more->'values' AS "values", r.quality, r.attributes, r.more
FROM reading_other r JOIN stream s ON s.stream = r.stream AND s.kind = 'bands';
COMMENT ON VIEW reading_bands IS 'readings of kind bands, which reading_other holds';
COMMENT ON COLUMN reading_bands.time IS 'the time of the reading, that of its record';
COMMENT ON COLUMN reading_bands.id IS 'its id; with stream and time its identity';
COMMENT ON COLUMN reading_bands.stream IS 'site, sensor and kind: a row of stream';
COMMENT ON COLUMN reading_bands.unit_set IS 'its units: a row of unit_set';
COMMENT ON COLUMN reading_bands.attribute_set IS 'its attributes, apart from times: a row of attribute_set';
COMMENT ON COLUMN reading_bands.historical IS 'true if it was sent late';
COMMENT ON COLUMN reading_bands.speed_rpm IS 'the speed for which the bands were computed, r/min; null without one';
COMMENT ON COLUMN reading_bands."values" IS 'value by name';
COMMENT ON COLUMN reading_bands.quality IS 'values that are not good, with quality and reason';
COMMENT ON COLUMN reading_bands.attributes IS 'attributes of its own, such as times';
COMMENT ON COLUMN reading_bands.more IS 'values, units that are in no unit_set, and raw values';
`;

/** What one site's messages may take of `rejected`. Never edited once released; a test holds its digest. */
export const REJECTED = `
ALTER TABLE rejected ADD COLUMN site text NOT NULL DEFAULT '';
COMMENT ON COLUMN rejected.site IS 'the level of the topic where the site stands; empty if it has none';
CREATE INDEX rejected_site ON rejected (site, number);
`;

/** Two boxes with one identity. Never edited once released; a test holds its digest. */
export const RUNS = `
ALTER TABLE box ADD COLUMN runs text[], ADD COLUMN runs_time timestamptz;
COMMENT ON COLUMN box.runs IS 'the runs of two boxes that publish as this site; null if that was never seen';
COMMENT ON COLUMN box.runs_time IS 'when their messages alternated last';
`;

/**
 * Functions with the owner's rights take nothing from the session of whoever calls them: with another DateStyle and zone, a week's text names other moments,
 * and tables that overlap refuse every reading of the next week. Never edited once released; a test holds its digest.
 */
export const SESSIONS = `
DO $$
DECLARE
  ours regprocedure;
BEGIN
  FOR ours IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND prosecdef AND proname LIKE 'gateside\\_%' LOOP
    EXECUTE format('ALTER FUNCTION %s SET "TimeZone" = ''UTC''', ours);
    EXECUTE format('ALTER FUNCTION %s SET "DateStyle" = ''ISO, MDY''', ours);
    EXECUTE format('ALTER FUNCTION %s SET "IntervalStyle" = ''postgres''', ours);
  END LOOP;
END $$;
`;

/** What one site's messages may take of `rejected`. Never edited once released; a test holds its digest. */
export const REJECTED = `
ALTER TABLE rejected ADD COLUMN site text NOT NULL DEFAULT '';
COMMENT ON COLUMN rejected.site IS 'the level of the topic where the site stands; empty if it has none';
CREATE INDEX rejected_site ON rejected (site, number);
`;

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

/** Conditions of machines. Never edited once released; a test holds its digest. */
export const MACHINES = `
CREATE TABLE machine (
  site text NOT NULL,
  machine bigint NOT NULL,
  time timestamptz NOT NULL,
  name text,
  area text,
  condition text NOT NULL,
  reason text,
  since timestamptz,
  since_at_least boolean,
  running boolean,
  speed_rpm double precision,
  zone text,
  stage integer,
  acknowledged boolean NOT NULL,
  alarms integer NOT NULL,
  warnings integer NOT NULL,
  changed jsonb,
  findings jsonb,
  outlook jsonb,
  gone boolean NOT NULL DEFAULT false,
  received timestamptz NOT NULL,
  PRIMARY KEY (site, machine)
);
COMMENT ON TABLE machine IS 'the newest that a box has said of each of its machines';
COMMENT ON COLUMN machine.site IS 'the box that sent it';
COMMENT ON COLUMN machine.machine IS 'its id in the site file';
COMMENT ON COLUMN machine.time IS 'when the box said so';
COMMENT ON COLUMN machine.name IS 'its name; null if it has none, or the uplink is compact';
COMMENT ON COLUMN machine.area IS 'where it stands';
COMMENT ON COLUMN machine.condition IS 'alarm, warning, watch, unknown, standing or ok';
COMMENT ON COLUMN machine.reason IS 'why, as a sentence';
COMMENT ON COLUMN machine.since IS 'since when';
COMMENT ON COLUMN machine.since_at_least IS 'true if storage begins there: it may be longer';
COMMENT ON COLUMN machine.running IS 'null while it is unknown';
COMMENT ON COLUMN machine.speed_rpm IS 'r/min';
COMMENT ON COLUMN machine.zone IS 'A to D, by ISO 20816-3';
COMMENT ON COLUMN machine.stage IS 'of its worst finding, 1 to 3';
COMMENT ON COLUMN machine.acknowledged IS 'true if every alarm that makes the condition is acknowledged';
COMMENT ON COLUMN machine.alarms IS 'open alarms';
COMMENT ON COLUMN machine.warnings IS 'open warnings';
COMMENT ON COLUMN machine.changed IS 'its worst value now and a month ago';
COMMENT ON COLUMN machine.findings IS 'findings that stand';
COMMENT ON COLUMN machine.outlook IS 'when the next limit will be reached';
COMMENT ON COLUMN machine.gone IS 'true once its topic was cleared: the box has it no longer';
COMMENT ON COLUMN machine.received IS 'when it arrived';

CREATE TABLE machine_change (
  site text NOT NULL,
  machine bigint NOT NULL,
  time timestamptz NOT NULL,
  condition text NOT NULL,
  reason text,
  since timestamptz,
  running boolean,
  zone text,
  stage integer,
  acknowledged boolean NOT NULL,
  alarms integer NOT NULL,
  warnings integer NOT NULL,
  findings jsonb,
  outlook jsonb,
  key text NOT NULL,
  PRIMARY KEY (site, machine, time)
);
CREATE INDEX machine_change_time ON machine_change USING brin (time);
COMMENT ON TABLE machine_change IS 'what boxes have said of machines, a row where something differs';
COMMENT ON COLUMN machine_change.site IS 'the box that sent it';
COMMENT ON COLUMN machine_change.machine IS 'its id in the site file';
COMMENT ON COLUMN machine_change.time IS 'when the box said so';
COMMENT ON COLUMN machine_change.condition IS 'alarm, warning, watch, unknown, standing or ok';
COMMENT ON COLUMN machine_change.reason IS 'why, as a sentence';
COMMENT ON COLUMN machine_change.since IS 'since when';
COMMENT ON COLUMN machine_change.running IS 'null while it is unknown';
COMMENT ON COLUMN machine_change.zone IS 'A to D, by ISO 20816-3';
COMMENT ON COLUMN machine_change.stage IS 'of its worst finding, 1 to 3';
COMMENT ON COLUMN machine_change.acknowledged IS 'true if every alarm that makes the condition is acknowledged';
COMMENT ON COLUMN machine_change.alarms IS 'open alarms';
COMMENT ON COLUMN machine_change.warnings IS 'open warnings';
COMMENT ON COLUMN machine_change.findings IS 'findings that stand';
COMMENT ON COLUMN machine_change.outlook IS 'when the next limit will be reached';
COMMENT ON COLUMN machine_change.key IS 'what differs from the row before';

CREATE TABLE heard (
  site text PRIMARY KEY,
  time timestamptz NOT NULL,
  first timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
COMMENT ON TABLE heard IS 'when a message of each site was last stored, to ten seconds';
COMMENT ON COLUMN heard.site IS 'the box that sent it';
COMMENT ON COLUMN heard.time IS 'when a message of it was stored';
COMMENT ON COLUMN heard.first IS 'when its first message was stored; -infinity of sites that were there before this table';
INSERT INTO heard (site, time, first) SELECT site, max(received), '-infinity' FROM (SELECT site, received FROM box UNION ALL SELECT site, received FROM sensor) t
  WHERE received IS NOT NULL GROUP BY site;

CREATE VIEW machine_now AS
SELECT row_number() OVER (ORDER BY
    array_position(ARRAY['alarm', 'warning', 'watch', 'unknown', 'standing', 'ok'], n.condition),
    CASE WHEN n.condition = 'unknown' THEN array_position(ARRAY['alarm', 'warning', 'watch', 'unknown', 'standing', 'ok'], n.last_condition) END,
    n.acknowledged, n.stage DESC NULLS LAST, n.zone DESC NULLS LAST, n.outlook->>'from' NULLS LAST, n.since NULLS LAST, n.name, n.site, n.machine) AS rank,
  n.site, n.machine, n.name, n.area, n.condition, n.last_condition, n.reason, n.since, n.since_at_least, n.running, n.speed_rpm, n.zone, n.stage,
  n.acknowledged, n.alarms, n.warnings, n.changed, n.findings, n.outlook, n.time, n.heard
FROM (
  SELECT m.*, m.condition AS last_condition,
    CASE WHEN b.state = 'offline' OR h.time IS NULL OR h.time < now() - interval '10 minutes' THEN 'unknown' ELSE m.condition END AS condition_now, h.time AS heard
  FROM machine m LEFT JOIN box b ON b.site = m.site
  LEFT JOIN (SELECT site, max(time) AS time FROM (SELECT site, time FROM heard UNION ALL SELECT site, received FROM box) t GROUP BY site) h ON h.site = m.site
  WHERE NOT m.gone
) o, LATERAL (SELECT o.site, o.machine, o.name, o.area, o.condition_now AS condition, o.last_condition, o.reason, o.since, o.since_at_least, o.running, o.speed_rpm,
  o.zone, o.stage, o.acknowledged, o.alarms, o.warnings, o.changed, o.findings, o.outlook, o.time, o.heard) n
ORDER BY rank;
COMMENT ON VIEW machine_now IS 'every machine of every box, worst first; of a box that is offline, or was not heard of for ten minutes, they are unknown';
COMMENT ON COLUMN machine_now.rank IS '1 is the worst';
COMMENT ON COLUMN machine_now.site IS 'the box that sent it';
COMMENT ON COLUMN machine_now.machine IS 'its id in the site file';
COMMENT ON COLUMN machine_now.name IS 'its name';
COMMENT ON COLUMN machine_now.area IS 'where it stands';
COMMENT ON COLUMN machine_now.condition IS 'alarm, warning, watch, unknown, standing or ok';
COMMENT ON COLUMN machine_now.last_condition IS 'what the box said last';
COMMENT ON COLUMN machine_now.reason IS 'why it said so, as a sentence';
COMMENT ON COLUMN machine_now.since IS 'since when';
COMMENT ON COLUMN machine_now.since_at_least IS 'true if storage begins there: it may be longer';
COMMENT ON COLUMN machine_now.running IS 'null while it is unknown';
COMMENT ON COLUMN machine_now.speed_rpm IS 'r/min';
COMMENT ON COLUMN machine_now.zone IS 'A to D, by ISO 20816-3';
COMMENT ON COLUMN machine_now.stage IS 'of its worst finding, 1 to 3';
COMMENT ON COLUMN machine_now.acknowledged IS 'true if every alarm that makes the condition is acknowledged';
COMMENT ON COLUMN machine_now.alarms IS 'open alarms';
COMMENT ON COLUMN machine_now.warnings IS 'open warnings';
COMMENT ON COLUMN machine_now.changed IS 'its worst value now and a month ago';
COMMENT ON COLUMN machine_now.findings IS 'findings that stand';
COMMENT ON COLUMN machine_now.outlook IS 'when the next limit will be reached';
COMMENT ON COLUMN machine_now.time IS 'when the box said so';
COMMENT ON COLUMN machine_now.heard IS 'when any message of the box was last stored';

-- Changes of machines are kept as hours are. A collector's log-in cannot delete the newest history.
CREATE OR REPLACE FUNCTION gateside_drop_hours(moment timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
DECLARE
  child pg_class;
  dropped integer := 0;
  -- No collector keeps less.
  until timestamptz := least(moment, now() - interval '840 hours');
BEGIN
  FOR child IN
    SELECT c.* FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent IN ('hour_value'::regclass, 'day_value'::regclass)
      AND right(c.relname, 6) < to_char(until AT TIME ZONE 'UTC', 'YYYYMM')
  LOOP
    EXECUTE format('DROP TABLE %s.%I', child.relnamespace::regnamespace, child.relname);
    dropped := dropped + (child.relname LIKE 'hour%')::integer;
  END LOOP;
  DELETE FROM machine_change WHERE time < date_trunc('month', until, 'UTC');
  RETURN dropped;
END $$;
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION gateside_drop_hours(timestamptz) SET search_path = %I, pg_temp', current_schema());
END $$;
`;

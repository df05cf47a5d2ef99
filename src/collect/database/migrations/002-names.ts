/**
 * States come on topics alone, whose levels hold `_` for `/` and its like: a box or sensor of such a name had a second row by its level. Never edited
 * once released; a test holds its digest.
 */
export const NAMES = `
-- A name as one level of a topic, as boxes write it.
CREATE FUNCTION gateside_level(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT regexp_replace(name, '[+#/\\u0001-\\u001f\\u007f-\\u009f]', '_', 'g')
$$;
CREATE INDEX box_level ON box (gateside_level(site)) WHERE gateside_level(site) <> site;
CREATE INDEX sensor_level ON sensor (site, gateside_level(sensor)) WHERE gateside_level(sensor) <> sensor;

-- Moves what was written under the levels of these sites to the rows of their names, as far as no readings bear the level itself as their name.
CREATE FUNCTION gateside_join_names(levels text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  named record;
BEGIN
  FOR named IN
    SELECT DISTINCT ON (gateside_level(site)) site, gateside_level(site) AS level FROM box
    WHERE gateside_level(site) = ANY(levels) AND gateside_level(site) <> site ORDER BY gateside_level(site), site
  LOOP
    CONTINUE WHEN EXISTS (SELECT FROM stream WHERE stream.site = named.level);
    UPDATE box b SET state = coalesce(b.state, l.state), state_time = coalesce(b.state_time, l.state_time), reason = coalesce(b.reason, l.reason),
      version = coalesce(b.version, l.version), configuration = coalesce(b.configuration, l.configuration),
      agent_state = coalesce(b.agent_state, l.agent_state), stats_time = coalesce(b.stats_time, l.stats_time), stats = coalesce(b.stats, l.stats),
      state_received = coalesce(b.state_received, l.state_received), received = greatest(b.received, l.received)
    FROM box l WHERE b.site = named.site AND l.site = named.level;
    DELETE FROM box WHERE site = named.level;
    UPDATE sensor s SET site = named.site WHERE s.site = named.level
      AND NOT EXISTS (SELECT FROM sensor n WHERE n.site = named.site AND n.sensor = s.sensor);
    UPDATE sensor n SET state = coalesce(n.state, l.state), last_reading = coalesce(n.last_reading, l.last_reading), battery = coalesce(n.battery, l.battery),
      sensor_state = coalesce(n.sensor_state, l.sensor_state), state_received = coalesce(n.state_received, l.state_received),
      received = greatest(n.received, l.received)
    FROM sensor l WHERE l.site = named.level AND n.site = named.site AND n.sensor = l.sensor;
    DELETE FROM sensor WHERE site = named.level;
  END LOOP;
  -- Sensors, now that their sites have one name.
  FOR named IN
    SELECT DISTINCT ON (n.site, gateside_level(n.sensor)) n.site, n.sensor, gateside_level(n.sensor) AS level
    FROM sensor n WHERE gateside_level(n.site) = ANY(levels) AND gateside_level(n.sensor) <> n.sensor
    ORDER BY n.site, gateside_level(n.sensor), n.sensor
  LOOP
    CONTINUE WHEN EXISTS (SELECT FROM stream s WHERE s.site = named.site AND s.sensor = named.level);
    UPDATE sensor n SET state = coalesce(n.state, l.state), last_reading = coalesce(n.last_reading, l.last_reading), battery = coalesce(n.battery, l.battery),
      sensor_state = coalesce(n.sensor_state, l.sensor_state), state_received = coalesce(n.state_received, l.state_received),
      received = greatest(n.received, l.received)
    FROM sensor l WHERE n.site = named.site AND n.sensor = named.sensor AND l.site = named.site AND l.sensor = named.level;
    DELETE FROM sensor WHERE site = named.site AND sensor = named.level;
  END LOOP;
END $$;

SELECT gateside_join_names((SELECT array_agg(DISTINCT gateside_level(site)) FROM sensor));
`;

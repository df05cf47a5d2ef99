import { FIRST_KINDS, type FirstKind } from "./kinds.ts";

const SETS = `-- Sites, sensors and kinds as a small number: 4 bytes in a reading instead of 30.
CREATE TABLE stream (
  stream integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  site text NOT NULL,
  sensor text NOT NULL,
  kind text NOT NULL,
  UNIQUE (site, sensor, kind)
);

-- The few distinct \`units\` and steady \`attributes\` objects of readings.
CREATE TABLE unit_set (
  unit_set integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash uuid NOT NULL UNIQUE,
  units jsonb NOT NULL
);
CREATE TABLE attribute_set (
  attribute_set integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash uuid NOT NULL UNIQUE,
  attributes jsonb NOT NULL
);

`;

const readingTable = ({ table, times, values }: FirstKind) => `CREATE TABLE ${table} (
  time timestamptz NOT NULL,
  id uuid NOT NULL,
  stream integer NOT NULL,
  unit_set integer,
  attribute_set integer,
  historical boolean NOT NULL,
${times.map(({ column }) => `  ${column} timestamptz,\n`).join("")}${values
  .map(({ name, type }) => `  ${name} ${type},\n`)
  .join("")}  quality jsonb,
  attributes jsonb,
  more jsonb,
  UNIQUE (stream, time, id)
) PARTITION BY RANGE (time);

`;

const OTHERS = `CREATE TABLE waveform (
  time timestamptz NOT NULL,
  id uuid NOT NULL,
  site text NOT NULL,
  sensor text NOT NULL,
  channel text NOT NULL,
  axis text,
  unit text,
  sample_rate double precision,
  samples integer NOT NULL,
  recording_reason text,
  data bytea NOT NULL,
  more jsonb,
  UNIQUE (site, sensor, time, channel, id)
) PARTITION BY RANGE (time);
COMMENT ON COLUMN waveform.data IS 'samples as 32-bit little-endian floats, in unit';

CREATE TABLE alarm_event (
  time timestamptz NOT NULL,
  id text NOT NULL,
  site text NOT NULL,
  sensor text,
  kind text,
  value text,
  alarm text NOT NULL,
  severity text,
  state text,
  "limit" double precision,
  hysteresis double precision,
  measured double precision,
  unit text,
  reading_id text,
  raised timestamptz,
  worst jsonb,
  acknowledged jsonb,
  text text,
  historical boolean NOT NULL DEFAULT false,
  more jsonb,
  UNIQUE (site, time, id)
) PARTITION BY RANGE (time);

CREATE TABLE gap (
  gap bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash uuid NOT NULL UNIQUE,
  site text NOT NULL,
  sensor text,
  kind text,
  "from" timestamptz,
  "to" timestamptz,
  count bigint,
  reason text,
  uplink text,
  received timestamptz NOT NULL
);

CREATE TABLE box (
  site text PRIMARY KEY,
  state text,
  state_time timestamptz,
  reason text,
  version text,
  configuration text,
  agent_state jsonb,
  stats_time timestamptz,
  stats jsonb,
  state_received timestamptz,
  received timestamptz NOT NULL
);

CREATE TABLE sensor (
  site text NOT NULL,
  sensor text NOT NULL,
  name text,
  location jsonb,
  described timestamptz,
  state text,
  last_reading timestamptz,
  battery double precision,
  sensor_state jsonb,
  state_received timestamptz,
  about jsonb,
  received timestamptz NOT NULL,
  PRIMARY KEY (site, sensor)
);

CREATE TABLE latest_reading (
  stream integer PRIMARY KEY,
  time timestamptz NOT NULL,
  id uuid NOT NULL,
  "values" jsonb NOT NULL,
  units jsonb NOT NULL,
  quality jsonb
) WITH (fillfactor = 50);

CREATE TABLE rejected (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  received timestamptz NOT NULL,
  topic text NOT NULL,
  reason text NOT NULL,
  detail text,
  bytes bigint NOT NULL,
  payload bytea NOT NULL
);
COMMENT ON TABLE rejected IS 'messages that could not be used, the newest of them; payload is cut to its first bytes';

-- Persistent sessions at the broker, so that one which nobody holds any more is taken over and emptied.
CREATE TABLE collector_session (
  source text NOT NULL,
  slot integer NOT NULL,
  client_id text NOT NULL,
  seen timestamptz NOT NULL,
  PRIMARY KEY (source, slot)
);

`;

export const TABLES = SETS + FIRST_KINDS.map(readingTable).join("") + OTHERS;

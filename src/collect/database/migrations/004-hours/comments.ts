/** What every table, view and column holds, for those who meet them in a query tool. */
import { FIRST_KINDS } from "../001-readings/kinds.ts";

type Columns = Readonly<Record<string, string>>;

const MEASURED = {
  time: "the time of the reading",
  site: "the box that sent it",
  sensor: "the sensor's code",
  kind: "the kind of the reading",
  value: "the name of the value",
  number: "the value as a number: zones A to D are 1 to 4, contacts 0 and 1",
  unit: "its unit; null for none",
  quality: "good, uncertain or bad",
  reason: "why it is not good",
  text: "the value as it was sent, where that is no number",
  id: "the id of the reading",
};

const READING = {
  time: "the time of the reading",
  id: "its id; with stream and time its identity",
  stream: "site, sensor and kind: a row of stream",
  unit_set: "its units: a row of unit_set",
  attribute_set: "its attributes, apart from times: a row of attribute_set",
  historical: "true if it was sent late",
  quality: "values that are not good, with quality and reason",
  attributes: "attributes of its own, such as times without a column",
  more: "values without a column, units that are in no unit_set, and raw values",
  time_data: "an attribute of the record, as it was sent",
  realnodetime: "an attribute of the record, as it was sent",
  start_period: "the attribute startPeriod of the record",
};

const SITE = "the box, by its site name";
const TABLES: Readonly<Record<string, readonly [string, Columns]>> = {
  measurement: ["a row per value of a reading", MEASURED],
  latest: ["a row per value of the newest reading of each sensor and kind", MEASURED],
  reading: [
    "a row per reading, its members as they were published",
    {
      ...MEASURED,
      values: "value by name",
      units: "unit by name",
      quality: "quality and reason by name, of those that are not good",
      attributes: "attribute by name",
      raw: "the record as the gateway served it, where boxes publish that",
      historical: "true if it was sent late",
    },
  ],
  measurement_hour: [
    "a row per value, unit and UTC hour, right at every commit",
    {
      ...MEASURED,
      time: "the start of the hour, UTC",
      count: "numbers, good and uncertain; each reading counts once",
      min: "the smallest number",
      mean: "the mean of the numbers; null if their sum is beyond a double",
      max: "the largest number",
      uncertain: "uncertain numbers among them",
      bad: "readings whose value was bad",
    },
  ],
  marked_hour: [
    "hourly values of the hours in hour_mark, computed from their readings",
    {
      ...MEASURED,
      time: "the start of the hour, UTC",
      stream: "a row of stream",
      count: "numbers, good and uncertain",
      min: "the smallest",
      mean: "their mean",
      max: "the largest",
      uncertain: "uncertain ones among them",
      bad: "bad values",
    },
  ],
  leaving_week: [
    "weekly tables before the horizon",
    {
      parent: "the table that it is or was a week of",
      child: "the weekly table",
      attached: "true if it is still a part of its parent",
      pending: "true if its detachment waits for readers",
    },
  ],
  stream: [
    "sites, sensors and kinds as a number",
    {
      stream: "the number, of this database alone",
      site: SITE,
      sensor: "the sensor's code",
      kind: "the kind of its readings",
    },
  ],
  unit_set: [
    "the distinct units objects of readings",
    { unit_set: "its number", hash: "MD5 of the JSON text", units: "unit by name of value" },
  ],
  attribute_set: [
    "the distinct attributes of readings, apart from times",
    { attribute_set: "its number", hash: "MD5 of the JSON text", attributes: "attribute by name" },
  ],
  waveform: [
    "samples of one channel of a measurement",
    {
      time: "the time of the measurement",
      id: "the id of its reading",
      site: SITE,
      sensor: "the sensor's code",
      channel: "the channel, such as channel1",
      axis: "its axis, where the box names one",
      unit: "the unit of the samples",
      sample_rate: "samples a second",
      samples: "how many",
      recording_reason: "why the node recorded it",
      data: "samples as 32-bit little-endian floats, in unit",
      more: "not used",
    },
  ],
  alarm_event: [
    "every transition of an alarm",
    {
      time: "when",
      id: "its id",
      site: SITE,
      sensor: "the sensor's code",
      kind: "the kind of the reading",
      value: "the name of the value",
      alarm: "the rule, or finding",
      severity: "warning or alarm",
      state: "active or cleared",
      limit: "the limit that was passed, in unit",
      hysteresis: "by how much it must be left, in unit",
      measured: "the value, in unit",
      unit: "the unit of the numbers",
      reading_id: "the id of the reading",
      raised: "when the alarm was raised",
      worst: "the worst value so far, with its time",
      acknowledged: "by whom, when, with which note",
      text: "a sentence for a person",
      historical: "true if a late reading did it",
      more: "other members of the event",
    },
  ],
  gap: [
    "readings that boxes dropped before they were sent",
    {
      gap: "its number",
      hash: "MD5 of the message: a repeated one is the same",
      site: SITE,
      sensor: "the sensor's code",
      kind: "the kind of the readings",
      from: "the first time",
      to: "the last time",
      count: "how many",
      reason: "why",
      uplink: "of which destination",
      received: "when it arrived",
    },
  ],
  box: [
    "the newest state and statistics of each box",
    {
      site: SITE,
      state: "online or offline",
      state_time: "when, by the box's clock",
      reason: "why it is offline",
      version: "of Gateside",
      configuration: "the first digits of the hash of its configuration",
      agent_state: "agent/state as it was published",
      stats_time: "when, by the box's clock",
      stats: "agent/stats as it was published",
      state_received: "when the state arrived",
      received: "when anything of it arrived last",
    },
  ],
  sensor: [
    "the name, place and state of each sensor",
    {
      site: SITE,
      sensor: "the sensor's code",
      name: "its name",
      location: "company, area, machine and point",
      described: "the time of the reading that named them",
      state: "online, silent, …",
      last_reading: "the time of its newest reading, by the box",
      battery: "V",
      sensor_state: "its state as it was published",
      state_received: "when the state arrived",
      about: "its description as it was published",
      received: "when anything of it arrived last",
    },
  ],
  latest_reading: [
    "the newest reading of each sensor and kind",
    {
      stream: "site, sensor and kind: a row of stream",
      time: "its time",
      id: "its id",
      values: "value by name",
      units: "unit by name",
      quality: "quality and reason by name, of those that are not good",
    },
  ],
  rejected: [
    "messages that could not be used, the newest of them",
    {
      number: "in order of arrival",
      received: "when",
      topic: "where",
      reason: "why, as one word",
      detail: "what exactly is wrong",
      bytes: "the size of the message",
      payload: "its first 4 kB",
    },
  ],
  collector_session: [
    "persistent sessions at the broker",
    {
      source: "broker, prefix and group",
      slot: "the number of the session",
      client_id: "its client id",
      seen: "when its holder said last that it lives",
    },
  ],
  gateside_schema: [
    "the steps by which these tables were made",
    { number: "its number", name: "its name", taken: "when" },
  ],
  ...Object.fromEntries(
    FIRST_KINDS.map(({ kind, table, times, values }) => [
      table,
      [
        kind === null
          ? "readings of kinds without a table of their own"
          : `readings of kind ${kind}`,
        {
          ...Object.fromEntries(
            Object.entries(READING).filter(
              ([name]) =>
                !/^(time_data|realnodetime|start_period)$/.test(name) ||
                times.some(({ column }) => column === name),
            ),
          ),
          ...Object.fromEntries(
            values.map(({ name }) => [name, "a value of the reading; its unit is in unit_set"]),
          ),
        },
      ] as const,
    ]),
  ),
};

const VIEWS = [
  "measurement",
  "latest",
  "reading",
  "measurement_hour",
  "marked_hour",
  "leaving_week",
];
const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Only columns that are there: views share their descriptions. */
export const COMMENTS = `DO $$
DECLARE
  described record;
BEGIN
  FOR described IN SELECT c.relname, c.relkind, a.attname, t.text FROM (VALUES
${Object.entries(TABLES)
  .flatMap(([table, [, columns]]) =>
    Object.entries(columns).map(([column, text]) => `('${table}', '${column}', ${quoted(text)})`),
  )
  .join(",\n")}
  ) t(relation, attribute, text)
  JOIN pg_class c ON c.oid = to_regclass(t.relation)
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = t.attribute
  LOOP
    EXECUTE format('COMMENT ON COLUMN %I.%I IS %L', described.relname, described.attname, described.text);
  END LOOP;
END $$;
${Object.entries(TABLES)
  .map(
    ([table, [text]]) =>
      `COMMENT ON ${VIEWS.includes(table) ? "VIEW" : "TABLE"} ${table} IS ${quoted(text)};`,
  )
  .join("\n")}
`;

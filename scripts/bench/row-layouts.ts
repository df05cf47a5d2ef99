/**
 * Layouts of a stored reading, side by side in one run: what a reading takes, what is written for it, and the CPU to store it,
 * to make its message, and to look up one value of a month. Decides nothing by itself: docs/decisions/store.md does.
 *
 *   node --import tsx scripts/bench/row-layouts.ts
 *
 * 50 sensors with three values and 5 with 25 values have a record a minute each; a commit every 6 s, pages of 1 kB and
 * checkpoints at 4 MB, as the agent has them. Only the table of readings and its index are written: in the agent they are a
 * third of the pages of a commit (`store-writes.ts --pages`), of which the index, which no layout changes, is the larger part.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { median, ownCpuMs, writtenBytes } from "./measure.ts";

const MINUTES = 60;
const COMMIT_S = 6;
const SENSORS = 55;
const SMALL = 50;
const START_MS = Date.parse("2026-11-01T00:00:00Z");
const HOUR_MS = 3_600_000;
const PAIRS = 6;

interface Sample {
  readonly stream: number;
  readonly timeMs: number;
  readonly id: Buffer;
  readonly values: readonly number[];
}
/** Of a stream: all that its rows share. */
interface Shape {
  readonly names: readonly string[];
  readonly units: string;
}
type Db = Sqlite.Database;
interface Layout {
  readonly name: string;
  readonly columns: string;
  /** Columns after stream, time and id. */
  store(sample: Sample, shape: Shape): readonly unknown[];
  /** Values of a row as text, as a message has them. */
  valuesText(row: readonly unknown[], shape: Shape): string;
  value(row: readonly unknown[], index: number, shape: Shape): number;
}

const VALUES = "accel_rms accel_peak accel_pp crest_factor kurtosis vel_rms disp_pp env_rms";
const SHAPES: readonly Shape[] = [
  { names: ["rpm", "battery", "module_temperature"], units: '{"rpm":"rpm"}' },
  {
    names: [
      ...[1, 2, 3].flatMap((n) => VALUES.split(" ").map((name) => `channel${n}_${name}`)),
      "temperature",
    ],
    units: '{"channel1_accel_rms":"G"}',
  },
];
const shapeOf = (stream: number) => SHAPES[stream < SMALL ? 0 : 1] as Shape;

const timeText = (timeMs: number) => new Date(timeMs).toISOString();
const attributesOf = ({ stream, timeMs }: Sample): readonly unknown[] =>
  stream < SMALL
    ? [12, 2, "+0000"]
    : [
        12,
        2,
        "+0000",
        6400,
        4096,
        "vibration",
        2,
        timeText(timeMs),
        timeText(timeMs),
        "realnodetime",
      ];
const ATTRIBUTES =
  "version battery_type utc_offset sample_rate samples device recording_reason time_data realnodetime time_source".split(
    " ",
  );
const attributesText = (sample: Sample) =>
  JSON.stringify(Object.fromEntries(attributesOf(sample).map((one, n) => [ATTRIBUTES[n], one])));
const rawText = ({ stream, timeMs, values }: Sample) =>
  JSON.stringify({
    sensor_code: `${10_000 + stream}`,
    RPM: values[0],
    battery: 3.58,
    battery_type: 2,
    module_temperature: 24.5,
    version: 12,
    time_data: `/Date(${timeMs}+0000)/`,
  });
const named = (values: readonly number[], { names }: Shape) =>
  JSON.stringify(Object.fromEntries(names.map((name, n) => [name, values[n]])));

/** A byte for each value that tells whether it is there, then the numbers. */
function packed(values: readonly number[]): Buffer {
  const body = Buffer.alloc(values.length * 8 + Math.ceil(values.length / 8));
  for (const [n, value] of values.entries()) body.writeDoubleLE(value, n * 8);
  return body;
}
const unpacked = (body: Buffer, { names }: Shape) => names.map((_, n) => body.readDoubleLE(n * 8));

const LAYOUTS: readonly Layout[] = [
  {
    name: "text with names (today)",
    columns: '"values" TEXT, attributes TEXT, raw TEXT',
    store: (sample, shape) => [
      named(sample.values, shape),
      attributesText(sample),
      rawText(sample),
    ],
    valuesText: (row) => row[3] as string,
    value: (row, index, { names }) => JSON.parse(row[3] as string)[names[index] as string],
  },
  {
    name: "text without names",
    columns: '"values" TEXT, attributes TEXT, raw TEXT',
    store: (sample) => [
      JSON.stringify(sample.values),
      JSON.stringify(attributesOf(sample)),
      JSON.stringify([`${10_000 + sample.stream}`, sample.values[0], 3.58, 2, 24.5, 12]),
    ],
    valuesText: (row, shape) => named(JSON.parse(row[3] as string), shape),
    value: (row, index) => JSON.parse(row[3] as string)[index],
  },
  {
    name: "packed numbers",
    columns: '"values" BLOB, attributes TEXT, raw TEXT',
    store: (sample) => [
      packed(sample.values),
      JSON.stringify(attributesOf(sample)),
      JSON.stringify([`${10_000 + sample.stream}`, sample.values[0], 3.58, 2, 24.5, 12]),
    ],
    valuesText: (row, shape) => named(unpacked(row[3] as Buffer, shape), shape),
    value: (row, index) => (row[3] as Buffer).readDoubleLE(index * 8),
  },
];

function* samples(minutes: number): Generator<Sample[]> {
  for (let s = 0; s < minutes * 60; s += COMMIT_S) {
    const group: Sample[] = [];
    for (let stream = 0; stream < SENSORS; stream++) {
      const offsetS = stream;
      const due = Math.ceil((s - offsetS) / 60) * 60 + offsetS;
      if (due >= s + COMMIT_S || due < 0) continue;
      const timeMs = START_MS + due * 1000;
      const values = shapeOf(stream).names.map((_, n) =>
        Number((Math.sin(timeMs + n) * 3).toPrecision(stream < SMALL ? 3 : 9)),
      );
      group.push({ stream, timeMs, id: randomBytes(16), values });
    }
    yield group;
  }
}

function open(path: string, { columns }: Layout): Db {
  const db = new Sqlite(path);
  for (const pragma of ["page_size = 1024", "journal_mode = WAL", "synchronous = NORMAL"])
    db.pragma(pragma);
  db.pragma("wal_autocheckpoint = 4096");
  db.exec(`CREATE TABLE readings (seq INTEGER PRIMARY KEY, stream INTEGER NOT NULL, time_ms INTEGER NOT NULL, id BLOB NOT NULL,
    ${columns}, stored_at_ms INTEGER, hour INTEGER NOT NULL AS (time_ms / ${HOUR_MS}) VIRTUAL);
    CREATE INDEX readings_by_hour ON readings (hour, stream, time_ms)`);
  return db;
}

interface Figures {
  readonly bytes: number;
  readonly storeUs: number;
  readonly messageUs: number;
  readonly valueUs: number;
}

function measure(directory: string, layout: Layout): Figures {
  const db = open(join(directory, `${layout.name}.db`), layout);
  const insert = db.prepare(
    `INSERT INTO readings (stream, time_ms, id, "values", attributes, raw, stored_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const store = db.transaction((group: readonly Sample[]) => {
    for (const sample of group)
      insert.run(
        sample.stream,
        sample.timeMs,
        sample.id,
        ...layout.store(sample, shapeOf(sample.stream)),
        sample.timeMs + 4000,
      );
  });
  const before = writtenBytes(process.pid);
  let count = 0;
  const storeMs = ownCpuMs(() => {
    for (const group of samples(MINUTES)) {
      store(group);
      count += group.length;
    }
  });
  const bytes = writtenBytes(process.pid) - before;
  const all = db
    .prepare<unknown[], unknown[]>(
      `SELECT seq, stream, time_ms, "values", attributes, raw, id, stored_at_ms FROM readings`,
    )
    .raw();
  let length = 0;
  const messageMs = ownCpuMs(() => {
    for (const row of all.iterate())
      length += layout.valuesText(row, shapeOf(row[1] as number)).length;
  });
  const one = db
    .prepare<unknown[], unknown[]>(
      `SELECT seq, stream, time_ms, "values" FROM readings WHERE hour = ? AND stream = ?`,
    )
    .raw();
  let looked = 0;
  const valueMs = ownCpuMs(() => {
    for (let hour = 0; hour < MINUTES / 60; hour++)
      for (let stream = SMALL; stream < SENSORS; stream++)
        for (const row of one.all(START_MS / HOUR_MS + hour, stream)) {
          if (Number.isNaN(layout.value(row, 5, shapeOf(stream)))) throw new Error("not a number");
          looked += 1;
        }
  });
  db.close();
  if (length === 0) throw new Error("nothing was read");
  const us = 1000;
  return {
    bytes: bytes / count,
    storeUs: (storeMs * us) / count,
    messageUs: (messageMs * us) / count,
    valueUs: (valueMs * us) / looked,
  };
}

const directory = mkdtempSync(join(tmpdir(), "gateside-layouts-"));
const runs = Array.from({ length: PAIRS }, (_, n) => {
  const place = join(directory, `${n}`);
  rmSync(place, { recursive: true, force: true });
  const folder = mkdtempSync(place);
  // Each begins once: what runs first is compiled first.
  const order = LAYOUTS.map((_, at) => (at + n) % LAYOUTS.length);
  const found = new Map(order.map((at) => [at, measure(folder, LAYOUTS[at] as Layout)]));
  return LAYOUTS.map((_, at) => found.get(at) as Figures);
});
rmSync(directory, { recursive: true, force: true });
console.log(
  "| layout | bytes written a reading | store, us | message, us | a value of a month, us |",
);
console.log("| --- | --- | --- | --- | --- |");
for (const [n, { name }] of LAYOUTS.entries()) {
  const of = (key: keyof Figures) => median(runs.map((run) => (run[n] as Figures)[key]));
  console.log(
    `| ${name} | ${of("bytes").toFixed(0)} | ${of("storeUs").toFixed(1)} | ${of("messageUs").toFixed(1)} | ${of("valueUs").toFixed(1)} |`,
  );
}

/**
 * Layouts of a stored reading, side by side in one run: what is written for it, and the CPU to store it, to make its message, and to
 * look up one of its values: node --import tsx scripts/bench/row-layouts.ts
 *
 * 50 sensors with three values and 5 with 25 have a record a minute each; a commit every 6 s, pages of 1 kB and checkpoints at
 * 4 MB, as the agent has them. Only the table of readings and its index are written, a third of the pages of a commit.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { median, ownCpuMs, writtenBytes } from "./measure.ts";

const HOURS = 30;
const WARM_UP_HOURS = 4;
const COMMIT_S = 6;
const SENSORS = 55;
const SMALL = 50;
const START_MS = Date.parse("2026-11-01T00:00:00Z");
const HOUR_MS = 3_600_000;

type Members = Readonly<Record<string, number | string>>;
interface Sample {
  readonly stream: number;
  readonly timeMs: number;
  readonly id: Buffer;
  /** As conversion hands them over. */
  readonly values: Members;
  readonly attributes: Members;
  readonly raw: Members;
}
type Content = readonly [values: string | Buffer, attributes: string, raw: string];
interface Layout {
  readonly name: string;
  /** Columns after stream, time and id. */
  store(sample: Sample): Content;
  /** Values and attributes as a message has them; `raw` is published by who asks for it alone. */
  texts(content: Content, stream: number): readonly [values: string, attributes: string];
  /** Of the name at this index. */
  value(content: Content, index: number, stream: number): number;
}

const VALUES = "accel_rms accel_peak accel_pp crest_factor kurtosis vel_rms disp_pp env_rms";
const SMALL_NAMES = ["rpm", "battery", "module_temperature"];
const ACCEL_NAMES = [1, 2, 3].flatMap((n) =>
  VALUES.split(" ").map((name) => `channel${n}_${name}`),
);
ACCEL_NAMES.push("temperature");
const isSmall = (stream: number) => stream < SMALL;
const namesOf = (stream: number) => (isSmall(stream) ? SMALL_NAMES : ACCEL_NAMES);
const timeText = (timeMs: number) => new Date(timeMs).toISOString();
function attributesOf(stream: number, timeMs: number): Members {
  const common = { version: 12, battery_type: 2, utc_offset: "+0000" };
  if (isSmall(stream)) return common;
  const time = timeText(timeMs);
  const times = { time_data: time, realnodetime: time, time_source: "realnodetime" };
  const device = { device: "vibration", recording_reason: 2 };
  return { ...common, sample_rate: 6400, samples: 4096, ...device, ...times };
}
function rawOf(stream: number, timeMs: number): Members {
  const time = `/Date(${timeMs}+0000)/`;
  const code = `${10_000 + stream}`;
  const common = { sensor_code: code, battery_type: 2, time_data: time };
  if (isSmall(stream))
    return { ...common, RPM: 1480.5, battery: 3.58, module_temperature: 24.5, version: 12 };
  const trigger = { sequence: 17, trigger: 0, trigger_type: 1, realnodetime: time };
  const sampling = { calibration: 0.000488, sample_rate: 6400, sensor_type: 3 };
  return { ...common, ...trigger, ...sampling, recording_reason: 2, device: "vibration" };
}

/** Lists of names, as numbers: what repeats in every row. A stream has few. */
const lists: (readonly string[])[] = [];
const known = new Map<string, number>();
const newest = new Map<string, number>();
function listOf(members: Members, column: string, stream: number): number {
  const place = `${column}${stream}`;
  const last = newest.get(place) ?? -1;
  const names = lists[last];
  let at = 0;
  if (names !== undefined) for (const name in members) if (names[at++] !== name) at = -1;
  if (at === names?.length) return last;
  const key = Object.keys(members).join();
  const list = known.get(key) ?? lists.push(Object.keys(members)) - 1;
  known.set(key, list);
  newest.set(place, list);
  return list;
}
/** `[list,values…]` */
function nameless(members: Members, column: string, { stream }: Sample): string {
  const values = JSON.stringify(Object.values(members));
  return `[${listOf(members, column, stream)},${values.slice(1)}`;
}
/** The object's text. */
function named(text: string): string {
  const parts = text.slice(1, -1).split(",");
  const names = lists[Number(parts[0])] ?? [];
  let object = "{";
  for (let n = 0; n < names.length; n++)
    object += `${n === 0 ? "" : ","}"${names[n]}":${parts[n + 1]}`;
  return `${object}}`;
}
function namedValue(text: string, name: string): number {
  const at = text.indexOf(`"${name}":`) + name.length + 3;
  const comma = text.indexOf(",", at);
  return Number(text.slice(at, comma < 0 ? -1 : comma));
}
function namelessValue(text: string, index: number): number {
  let at = text.indexOf(",");
  for (let n = 0; n < index; n++) at = text.indexOf(",", at + 1);
  const comma = text.indexOf(",", at + 1);
  return Number(text.slice(at + 1, comma < 0 ? -1 : comma));
}
/** Without the bits that would tell which of them are there. */
const packed = (members: Members) =>
  Buffer.from(Float64Array.from(Object.values(members) as number[]).buffer);
const unpacked = (body: Buffer, stream: number) =>
  JSON.stringify(
    Object.fromEntries(namesOf(stream).map((name, n) => [name, body.readDoubleLE(n * 8)])),
  );

const NAMED: Layout = {
  name: "text with names",
  store: ({ values, attributes, raw }) => [
    JSON.stringify(values),
    JSON.stringify(attributes),
    JSON.stringify(raw),
  ],
  texts: ([values, attributes]) => [values as string, attributes],
  value: ([values], index, stream) =>
    namedValue(values as string, namesOf(stream)[index] as string),
};
const LAYOUTS: readonly Layout[] = [
  NAMED,
  {
    ...NAMED,
    name: "raw record without names",
    store: (sample) => [
      JSON.stringify(sample.values),
      JSON.stringify(sample.attributes),
      nameless(sample.raw, "raw", sample),
    ],
  },
  {
    name: "nothing with names",
    store: (sample) => [
      nameless(sample.values, "values", sample),
      nameless(sample.attributes, "attributes", sample),
      nameless(sample.raw, "raw", sample),
    ],
    texts: ([values, attributes]) => [named(values as string), named(attributes)],
    value: ([values], index) => namelessValue(values as string, index),
  },
  {
    name: "packed numbers, text without names",
    store: (sample) => [
      packed(sample.values),
      nameless(sample.attributes, "attributes", sample),
      nameless(sample.raw, "raw", sample),
    ],
    texts: ([values, attributes], stream) => [
      unpacked(values as Buffer, stream),
      named(attributes),
    ],
    value: ([values], index) => (values as Buffer).readDoubleLE(index * 8),
  },
];

/** By commit. */
function* samples(hour: number): Generator<Sample[]> {
  for (let s = hour * 3600; s < (hour + 1) * 3600; s += COMMIT_S) {
    const group: Sample[] = [];
    for (let stream = 0; stream < SENSORS; stream++) {
      const offsetS = stream;
      const due = Math.ceil((s - offsetS) / 60) * 60 + offsetS;
      if (due >= s + COMMIT_S || due < 0) continue;
      const timeMs = START_MS + due * 1000;
      const numbers = namesOf(stream).map((name, n) => [
        name,
        Number((Math.sin(timeMs + n) * 3).toPrecision(isSmall(stream) ? 3 : 9)),
      ]);
      group.push({
        stream,
        timeMs,
        id: randomBytes(16),
        values: Object.fromEntries(numbers),
        attributes: attributesOf(stream, timeMs),
        raw: rawOf(stream, timeMs),
      });
    }
    yield group;
  }
}

function open(path: string): Sqlite.Database {
  const db = new Sqlite(path);
  for (const pragma of ["page_size = 1024", "journal_mode = WAL", "synchronous = NORMAL"])
    db.pragma(pragma);
  db.pragma("wal_autocheckpoint = 4096");
  db.exec(`CREATE TABLE readings (seq INTEGER PRIMARY KEY, stream INTEGER NOT NULL, time_ms INTEGER NOT NULL, id BLOB NOT NULL,
    "values" ANY, attributes TEXT, raw TEXT, stored_at_ms INTEGER, hour INTEGER NOT NULL AS (time_ms / ${HOUR_MS}) VIRTUAL) STRICT;
    CREATE INDEX readings_by_hour ON readings (hour, stream, time_ms)`);
  return db;
}

interface Figures {
  readonly bytes: number;
  /** CPU of a reading, us. */
  readonly storeUs: number;
  readonly messageUs: number;
  readonly valueUs: number;
}
type Row = readonly [stream: number, timeMs: number, id: Buffer, ...Content];

/** A store of one layout, which stores, publishes and answers for one hour after the other. */
function createTrial(
  path: string,
  layout: Layout,
): (hour: readonly (readonly Sample[])[]) => Figures {
  const db = open(path);
  const insert = db.prepare(
    `INSERT INTO readings (stream, time_ms, id, "values", attributes, raw, stored_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const store = db.transaction((group: readonly Sample[]) => {
    for (const sample of group) {
      const { stream, timeMs, id } = sample;
      insert.run(stream, timeMs, id, ...layout.store(sample), timeMs + 4000);
    }
  });
  const columns = `SELECT stream, time_ms, id, "values", attributes, raw FROM readings`;
  const next = db.prepare<unknown[], Row>(`${columns} WHERE seq > ? LIMIT 100`).raw();
  const ofHour = db.prepare<unknown[], Row>(`${columns} WHERE hour = ? AND stream = ?`).raw();
  let sent = 0;
  let bytes = 0;
  const send = (rows: readonly Row[]) => {
    for (const [stream, timeMs, id, ...content] of rows) {
      const [values, attributes] = layout.texts(content, stream);
      const head = `{"v":1,"id":"${id.toString("hex")}","time":"${timeText(timeMs)}"`;
      // Bytes, as the socket has them.
      bytes += Buffer.from(`${head},"values":${values},"attributes":${attributes}}`).length;
    }
    sent += rows.length;
  };
  return (groups) => {
    const before = { bytes: writtenBytes(process.pid), sent };
    const storeMs = ownCpuMs(() => {
      for (const group of groups) store(group);
    });
    const written = writtenBytes(process.pid) - before.bytes;
    const messageMs = ownCpuMs(() => {
      for (let rows = next.all(sent); rows.length > 0; rows = next.all(sent)) send(rows);
    });
    const hour = Math.floor((groups[0]?.[0]?.timeMs ?? 0) / HOUR_MS);
    let looked = 0;
    const valueMs = ownCpuMs(() => {
      for (let stream = SMALL; stream < SENSORS; stream++)
        for (const [, , , ...content] of ofHour.all(hour, stream)) {
          if (Number.isNaN(layout.value(content, 5, stream))) throw new Error("not a number");
          looked += 1;
        }
    });
    const each = (ms: number) => (1000 * ms) / (sent - before.sent);
    return {
      bytes: written / (sent - before.sent),
      storeUs: each(storeMs),
      messageUs: each(messageMs),
      valueUs: (1000 * valueMs) / looked,
    };
  };
}

const directory = mkdtempSync(join(tmpdir(), "gateside-layouts-"));
const trials = LAYOUTS.map((layout, n) => createTrial(join(directory, `${n}.db`), layout));
const found: Figures[][] = LAYOUTS.map(() => []);
for (let hour = 0; hour < HOURS; hour++) {
  const groups = [...samples(hour)];
  // Each begins once: what runs first finds the caches of another.
  for (let n = 0; n < LAYOUTS.length; n++) {
    const at = (n + hour) % LAYOUTS.length;
    const figures = trials[at]?.(groups);
    if (figures !== undefined && hour >= WARM_UP_HOURS) found[at]?.push(figures);
  }
}
rmSync(directory, { recursive: true, force: true });
/** From storing to publishing by this many uplinks, us. */
const totalUs = ({ storeUs, messageUs }: Figures, uplinks: number) => storeUs + uplinks * messageUs;
console.log(`| layout | bytes written a reading | store, us | message, us | both / today | with three uplinks | a value, us |
| --- | --- | --- | --- | --- | --- | --- |`);
const today = found[0] ?? [];
for (const [n, { name }] of LAYOUTS.entries()) {
  const own = found[n] ?? [];
  const of = (key: keyof Figures) => median(own.map((figures) => figures[key]));
  const ratio = (uplinks: number) =>
    median(own.map((one, i) => totalUs(one, uplinks) / totalUs(today[i] ?? one, uplinks))).toFixed(
      2,
    );
  const bytes = own.reduce((sum, figures) => sum + figures.bytes, 0) / own.length;
  const each = [of("storeUs").toFixed(1), of("messageUs").toFixed(1), ratio(1), ratio(3)];
  console.log(`| ${[name, bytes.toFixed(0), ...each, of("valueUs").toFixed(1)].join(" | ")} |`);
}

/**
 * What a reading costs between the broker and the disk: parse → COPY → COMMIT over readings of thin boxes, without a broker. CPU of this process
 * and of PostgreSQL, per reading.
 *
 *   node --import tsx scripts/chain/writing.ts [--readings 200000] [--boxes 1000] [--sensors 50] [--batch 5000] [--stored 0,5000000,20000000]
 *     [--knob none] [--knob "wal_compression = off"]
 */
import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Writer } from "../../src/collect/database/writer.ts";
import { parseMessage } from "../../src/collect/parse/parse-message.ts";
import { DEFAULT_TOPIC, SiteTopics } from "../../src/collect/site-topics.ts";
import { deliveryOf } from "../../test/support/collecting.ts";
import { openPostgres } from "../../test/support/postgres.ts";
import { cpuMs } from "../bench/measure.ts";
import { Preload } from "./preload.ts";
import { ask } from "./processes.ts";
import { createThinBox, plantTemplates } from "./thin-boxes.ts";

const { values: given } = parseArgs({
  options: {
    readings: { type: "string", default: "200000" },
    boxes: { type: "string", default: "1000" },
    sensors: { type: "string", default: "50" },
    batch: { type: "string", default: "5000" },
    /** Readings already stored; one measurement each. */
    stored: { type: "string", default: "0" },
    /** Settings of PostgreSQL, or `none`: each measured after a checkpoint, when the first change of a page writes the whole page to the WAL. */
    knob: { type: "string", multiple: true, default: [] },
  },
});
const OPTIONS = { topics: new SiteTopics("gateside", DEFAULT_TOPIC), keepDays: null };
/** Streams and sets are looked up in the first of these, which are left out of the figures. */
const WARM_BATCHES = 12;

/** The server and every process it has started. */
export function serverCpuMs(pid: number): number {
  let sum = cpuMs(pid);
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1];
      if (Number(parent) === pid) sum += cpuMs(Number(name));
    } catch {
      // It has ended in the meantime.
    }
  }
  return sum;
}

const print = (cells: readonly (string | number)[]) =>
  process.stdout.write(`| ${cells.join(" | ")} |\n`);
const HEADINGS = [
  "stored before",
  "collector, parsing, µs",
  "collector, writing, µs",
  "PostgreSQL, µs",
  "WAL a reading, bytes",
  "readings per second and core: collector",
  "PostgreSQL",
  "readings a second",
];

const walBytes = async (url: string) =>
  Number((await ask<{ n: string }>(url, "SELECT pg_current_wal_lsn() - '0/0' AS n"))[0]?.n);

async function main(): Promise<void> {
  const plant = await plantTemplates(Number(given.sensors));
  const boxes = Array.from({ length: Number(given.boxes) }, (_, n) =>
    createThinBox(plant, `plant-${n}`, "writing"),
  );
  const postgres = await openPostgres({
    isDurable: true,
    config: ["shared_buffers = 1GB", "max_wal_size = 8GB", "wal_compression = on"],
  });
  try {
    const url = await postgres.createDatabase("writing");
    const writer = new Writer(url);
    const size = Number(given.batch);
    let n = 0;
    let bytes = 0;
    let bytesEach = 0;
    const timeMs = Date.now() - 600_000;
    const preload = new Preload(url, {
      boxes,
      streams: plant.streams.length,
      stepMs: 60_000,
      untilMs: timeMs,
    });
    const deliveries = () =>
      Array.from({ length: size }, () => {
        const box = boxes[n % boxes.length];
        if (box === undefined) throw new Error("no boxes");
        n += 1;
        const { message } = box.next(timeMs + n);
        const delivery = deliveryOf(message.topic, message.payload);
        bytes += delivery.bytes;
        return delivery;
      });
    let parseMs = 0;
    let writeMs = 0;
    const own = () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    };
    const round = async () => {
      const batch = deliveries();
      const startedMs = own();
      const entries = batch.map((delivery) => ({
        delivery,
        item: parseMessage(delivery, OPTIONS),
      }));
      const parsedMs = own();
      const written = await writer.write(entries);
      if (written.readings !== size) throw new Error(`${written.readings} of ${size} written`);
      parseMs += parsedMs - startedMs;
      writeMs += own() - parsedMs;
    };
    const measure = async (note: string) => {
      parseMs = 0;
      writeMs = 0;
      bytes = 0;
      const rounds = Math.ceil(Number(given.readings) / size);
      const serverBefore = serverCpuMs(postgres.pid);
      const walBefore = await walBytes(url);
      const startedAt = performance.now();
      for (let i = 0; i < rounds; i++) await round();
      const wallMs = performance.now() - startedAt;
      const serverMs = serverCpuMs(postgres.pid) - serverBefore;
      const count = rounds * size;
      const wal = Math.round(((await walBytes(url)) - walBefore) / count);
      const us = (ms: number) => ((ms * 1000) / count).toFixed(1);
      const perSecond = (ms: number) => Math.round((count * 1000) / ms);
      bytesEach = bytes / count;
      const costs = [us(parseMs), us(writeMs), us(serverMs), wal];
      print([note, ...costs, perSecond(parseMs + writeMs), perSecond(serverMs), perSecond(wallMs)]);
    };
    print(HEADINGS);
    print(HEADINGS.map(() => "---"));
    for (const wanted of (given.stored ?? "").split(",").map(Number)) {
      const stored = wanted === 0 ? 0 : await preload.upTo(wanted);
      for (let i = 0; i < WARM_BATCHES; i++) await round();
      await measure(stored.toLocaleString("en-US"));
      for (const knob of given.knob) {
        if (knob !== "none") await ask(url, `ALTER SYSTEM SET ${knob}`);
        await ask(url, "SELECT pg_reload_conf()");
        await ask(url, "CHECKPOINT");
        await measure(`${stored.toLocaleString("en-US")}, just after a checkpoint, ${knob}`);
        await ask(url, "ALTER SYSTEM RESET ALL");
      }
    }
    process.stdout.write(
      `\n${boxes.length} boxes, ${plant.streams.length} sensors and kinds each, ${Math.round(bytesEach)} bytes a message, batches of ${size}\n`,
    );
    await writer.close();
  } finally {
    postgres.close();
  }
}

await main();

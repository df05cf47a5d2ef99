/**
 * The tables of docs/scale.md: what a box of 50 sensors costs the receiving end, measured here, and what that makes for 10 to 100,000 of them.
 *
 *   node --import tsx scripts/chain/scale.ts [--readings 120000] [--broker-us 220]
 *
 * `--broker-us` is the CPU of a RabbitMQ cluster of three nodes per published reading, which `scripts/chain/fleet.ts` measures.
 */
import { parseArgs } from "node:util";
import { openConnection } from "../../src/collect/database/connection.ts";
import { settleHours } from "../../src/collect/database/hours.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import { parseMessage } from "../../src/collect/parse/parse-message.ts";
import { DEFAULT_TOPIC, SiteTopics } from "../../src/collect/site-topics.ts";
import { deliveryOf } from "../../test/support/collecting.ts";
import { openPostgres } from "../../test/support/postgres.ts";
import { ask, treeCpuMs } from "./processes.ts";
import { createThinBox, plantTemplates } from "./thin-boxes.ts";

const { values: given } = parseArgs({
  options: {
    readings: { type: "string", default: "120000" },
    "broker-us": { type: "string", default: "220" },
  },
});
const SENSORS = 50;
const BOXES = 20;
const BATCH = 5000;
const HOUR_S = 3600;
const YEAR_S = 365 * 86_400;
/** Per publish with QoS 1, besides topic and payload: its header, the PUBACK, and TCP, IP and TLS at some messages a packet. */
const OVERHEAD_BYTES = 60;
/** Of a cell. */
const COLLECTORS = 2;
/** A cell: so many boxes, and so many readings a second, at most. */
const CELL_BOXES = 5000;
const CELL_RATE = 2000;
const OPTIONS = { topics: new SiteTopics("gateside", DEFAULT_TOPIC), keepDays: null };

const print = (text: string) => process.stdout.write(`${text}\n`);

interface Measured {
  /** Sensors and kinds of a box. */
  readonly streams: number;
  readonly messageBytes: number;
  readonly collectorUs: number;
  readonly databaseUs: number;
  readonly rawBytes: number;
  /** Hourly values of a box, and bytes of each. */
  readonly series: number;
  readonly hourBytes: number;
}

async function measure(): Promise<Measured> {
  const plant = await plantTemplates(SENSORS);
  const boxes = Array.from({ length: BOXES }, (_, n) =>
    createThinBox(plant, `plant-${n}`, "scale"),
  );
  const perMinute = plant.streams.length * BOXES;
  const readings = Number(given.readings);
  const startMs = Date.now() - Math.ceil(readings / perMinute) * 60_000 - HOUR_S * 1000;
  const postgres = await openPostgres({ config: ["shared_buffers = 1GB", "max_wal_size = 8GB"] });
  try {
    const url = await postgres.createDatabase("scale");
    const writer = new Writer(url);
    await writer.open();
    const own = () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    };
    const [ownMs, serverMs] = [{ sum: 0 }, { sum: 0 }];
    let bytes = 0;
    let sent = 0;
    while (sent < readings) {
      const deliveries = Array.from({ length: BATCH }, () => {
        const timeMs = startMs + Math.floor(sent / perMinute) * 60_000;
        const box = boxes[sent % BOXES];
        if (box === undefined) throw new Error("no boxes");
        sent += 1;
        const { topic, payload } = box.next(timeMs).message;
        const delivery = deliveryOf(topic, payload);
        bytes += delivery.bytes + Buffer.byteLength(topic) + OVERHEAD_BYTES;
        return delivery;
      });
      const [ownBefore, serverBefore] = [own(), treeCpuMs(postgres.pid)];
      const { readings: stored } = await writer.write(
        deliveries.map((delivery) => ({ delivery, item: parseMessage(delivery, OPTIONS) })),
      );
      if (stored !== BATCH) throw new Error(`${stored} of ${BATCH} stored`);
      ownMs.sum += own() - ownBefore;
      serverMs.sum += treeCpuMs(postgres.pid) - serverBefore;
    }
    await writer.close();
    const size = async (like: string) =>
      Number(
        (
          await ask<{ bytes: string }>(
            url,
            `SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
             WHERE c.relname LIKE '${like}' AND c.relkind = 'r'`,
          )
        )[0]?.bytes,
      );
    const client = await openConnection(url, "scale");
    await ask(
      url,
      "INSERT INTO hour_mark SELECT DISTINCT hour, stream, 1 FROM hour_mark ON CONFLICT DO NOTHING",
    );
    while ((await settleHours(client, new AbortController().signal)) > 0);
    await client.end();
    const [hours] = await ask<{ rows: string; series: string }>(
      url,
      "SELECT count(*) AS rows, count(DISTINCT series) AS series FROM hour_value",
    );
    return {
      streams: plant.streams.length,
      messageBytes: bytes / sent,
      collectorUs: (ownMs.sum * 1000) / sent,
      databaseUs: (serverMs.sum * 1000) / sent,
      rawBytes: (await size("reading_%")) / sent,
      series: Number(hours?.series) / BOXES,
      hourBytes: (await size("hour_value_%")) / Number(hours?.rows),
    };
  } finally {
    postgres.close();
  }
}

function amount(value: number, unit: string): string {
  const steps = ["", "k", "M", "G", "T", "P"];
  let at = 0;
  let rest = value;
  while (rest >= 1000 && at < steps.length - 1) {
    rest /= 1000;
    at += 1;
  }
  return `${rest >= 100 ? Math.round(rest) : Number(rest.toPrecision(2))} ${steps[at]}${unit}`;
}

function table(m: Measured, everyS: number): void {
  const brokerUs = Number(given["broker-us"]);
  print(
    "| boxes | connections | readings/s | to the broker | CPU of broker, collectors, PostgreSQL (cores) | raw a year | hourly values a year | cells |",
  );
  print("| --- | --- | --- | --- | --- | --- | --- | --- |");
  for (const boxes of [10, 1000, 10_000, 100_000]) {
    const rate = (boxes * m.streams) / everyS;
    const cores = [brokerUs, m.collectorUs, m.databaseUs].map((us) => {
      const used = (rate * us) / 1e6;
      return used < 0.01 ? "< 0.01" : Number(used.toPrecision(2)).toLocaleString("en-US");
    });
    const cells = Math.max(1, Math.ceil(Math.max(boxes / CELL_BOXES, rate / CELL_RATE)));
    print(
      `| ${boxes.toLocaleString("en-US")} | ${(boxes + COLLECTORS * cells).toLocaleString("en-US")} | ${Number(rate.toPrecision(3)).toLocaleString("en-US")} | ${amount(rate * m.messageBytes, "B/s")} | ${cores.join(", ")} | ${amount(rate * YEAR_S * m.rawBytes, "B")} | ${amount((boxes * m.series * YEAR_S * m.hourBytes) / HOUR_S, "B")} | ${cells} |`,
    );
  }
}

const measured = await measure();
print("| of a box with 50 sensors | measured |\n| --- | --- |");
print(`| sensors and kinds | ${measured.streams} |`);
print(
  `| a message, with topic, header and acknowledgement | ${Math.round(measured.messageBytes)} bytes |`,
);
print(`| CPU of a collector per reading | ${measured.collectorUs.toFixed(0)} µs |`);
print(`| CPU of PostgreSQL per reading | ${measured.databaseUs.toFixed(0)} µs |`);
print(`| a stored reading, index included | ${Math.round(measured.rawBytes)} bytes |`);
print(
  `| hourly values | ${Math.round(measured.series)} an hour, ${Math.round(measured.hourBytes)} bytes each, index included |`,
);
for (const everyS of [60, 600]) {
  print(`\nA reading of each sensor and kind every ${everyS / 60} min:\n`);
  table(measured, everyS);
}

/**
 * What a box sends in a month, as bytes that brokers receive (without the headers of TCP and TLS): 50 simulated sensors that are read
 * each minute, one agent, three uplinks with a mosquitto each. Prints the table of docs/network.md, extrapolated from some minutes.
 *
 *   npm run build && node --import tsx scripts/bench/month.ts [--minutes 30]
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import mqtt from "mqtt";
import { freePort, type Mosquitto, startMosquitto } from "../../test/support/mosquitto.ts";
import { sleep, until } from "./measure.ts";

const SENSORS = 50;
const MONTH_S = 30 * 86_400;
/** A multiple of `everyS`, so that no period counts in part. */
const MINUTES = "30";
/** The first readings of the day, and the first period, are not of every month. */
const SETTLE_S = 240;
const ON_CHANGE = {
  values: { "*_vel_rms": 0.1, "*_avg": 0.5, "channel?": 0.1, rpm: 5, temperature: 1 },
  atLeastEveryS: 3600,
};
const UPLINKS = [
  { what: "every reading", members: {} },
  { what: "`compact` and `onChange`", members: { compact: true, onChange: ON_CHANGE } },
  { what: "`compact` and `everyS` 900", members: { compact: true, everyS: 900 } },
];

/** The broker's own count of bytes received. */
async function counterOf(broker: Mosquitto): Promise<() => number> {
  const client = await mqtt.connectAsync(broker.url);
  let bytes = Number.NaN;
  client.on("message", (_, payload) => {
    bytes = Number(payload);
  });
  await client.subscribeAsync("$SYS/broker/bytes/received");
  await until("the count of bytes", () => !Number.isNaN(bytes), 10_000);
  return () => bytes;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { minutes: { type: "string", default: MINUTES } } });
  const seconds = Number(values.minutes) * 60;
  const directory = mkdtempSync(join(tmpdir(), "gateside-month-"));
  const brokers = await Promise.all(
    UPLINKS.map(() => startMosquitto({ config: ["sys_interval 1"] })),
  );
  const start = (words: readonly string[], env = {}) =>
    spawn(process.execPath, [resolve("dist/gateside.js"), ...words], {
      cwd: directory,
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, ...env },
    });
  const port = await freePort();
  const words = ["--port", String(port), "--sensors", String(SENSORS), "--site-out", "site.json"];
  const children = [start(["simulate", ...words])];
  try {
    const uplinks = UPLINKS.map(({ members }, at) => ({
      name: `u${at}`,
      url: brokers[at]?.url,
      waveforms: "never",
      ...members,
    }));
    writeFileSync(join(directory, "uplinks.json"), JSON.stringify({ uplinks }));
    await sleep(5000);
    children.push(
      start(["run"], {
        GATEWAY_URL: `http://127.0.0.1:${port}`,
        SITE_FILE: "site.json",
        UPLINKS_FILE: "uplinks.json",
        BACKFILL_DAYS: "0",
        HTTP_PORT: "off",
      }),
    );
    const counters = await Promise.all(brokers.map(counterOf));
    await sleep(SETTLE_S * 1000);
    const before = counters.map((bytes) => bytes());
    await sleep(seconds * 1000);
    const after = counters.map((bytes) => bytes());
    console.log(`| ${SENSORS} sensors, ${values.minutes} minutes | a month |\n| --- | --- |`);
    UPLINKS.forEach(({ what }, at) => {
      const bytes = (after[at] ?? 0) - (before[at] ?? 0);
      const gigabytes = (bytes * MONTH_S) / seconds / 1e9;
      console.log(`| ${what} | ${gigabytes.toFixed(2)} GB |`);
    });
  } finally {
    for (const child of children) child.kill();
    await Promise.all(brokers.map((broker) => broker.close()));
    rmSync(directory, { recursive: true, force: true });
  }
}

await main();
process.exit(0);

/** One hostile record among good ones, in one response and in eight at once. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { MORNING_ZONE } from "../../test/support/morning.ts";
import { HOSTILE_RECORDS, type HostileRecord } from "./hostile-records.ts";
import type { Row } from "./row.ts";
import { memoryHighMb, startVictim, waitFor } from "./victim.ts";

/** Longest time that one record may block the event loop, ms. Other work in the same turn is included. */
const HOLD_MAX_MS = 200;
const TIMEOUT_MS = 240_000;
/** What else the machine does may hold the loop up, too: the best of so many attempts counts. */
const ATTEMPTS_MAX = 3;

export async function attackByRecords(isShort: boolean, onRow: (row: Row) => void): Promise<void> {
  for (const [index, record] of HOSTILE_RECORDS.entries()) {
    if (isShort && record.isShort !== true) continue;
    for (const answers of isShort ? [8] : [1, 8]) {
      let row = await attack(record, index, answers);
      for (let n = 1; n < ATTEMPTS_MAX && !row.isWell; n++)
        row = await attack(record, index, answers);
      onRow(row);
    }
  }
}

async function attack(record: HostileRecord, index: number, answers: number): Promise<Row> {
  const gateway = spawn(
    process.execPath,
    ["--import", "tsx", join(import.meta.dirname, "record-gateway.ts"), String(index)],
    { stdio: ["ignore", "pipe", "inherit", "ipc"] },
  );
  if (gateway.stdout === null) throw new Error("the gateway has no output");
  const [port] = (await once(gateway.stdout, "data")) as [Buffer];
  const codes = Array.from({ length: answers }, (_, n) => String(1001 + n));
  const victim = await startVictim(
    {
      site: "attack",
      sensors: codes.map((code) => ({ code, type: 3, kinds: [record.kind] })),
    },
    {
      GATEWAY_URL: `http://127.0.0.1:${port.toString().trim()}`,
      GATEWAY_TIMEZONE: MORNING_ZONE,
      GATEWAY_CONCURRENCY: "8",
      POLL_INTERVAL_S: "3600",
    },
  );
  try {
    const readings = answers * (record.reason === null ? 3 : 2);
    const rejected = record.reason === null ? 0 : answers;
    await waitFor(
      async () => {
        if (victim.hasEnded()) throw new Error(`the agent ended\n${victim.log().slice(-3_000)}`);
        const text = await victim.metrics();
        const count = (name: string) =>
          Number(new RegExp(`^${name}.* (\\d+)$`, "m").exec(text)?.[1]);
        const isRead = count(`gateside_readings_total\\{kind="${record.kind}"`) >= readings;
        const isRejected =
          record.reason === null ||
          count(`gateside_records_rejected_total\\{reason="${record.reason}"`) >= rejected;
        return isRead && isRejected;
      },
      TIMEOUT_MS,
      () => victim.log().slice(-3_000),
    );
    // LOOP_HOLD_FILE is written four times a second.
    await new Promise((resolve) => setTimeout(resolve, 600));
    const peakMb = victim.peakMb();
    const holdMs = victim.longestHoldMs();
    return {
      input: `${record.name}${answers === 1 ? "" : `, ${answers} answers at once`}`,
      outcome:
        record.reason === null
          ? "stored, neighbours too"
          : `reject \`${record.reason}\`; neighbours stored`,
      peakMb,
      holdMs,
      isWell: peakMb < memoryHighMb() && holdMs <= HOLD_MAX_MS,
    };
  } finally {
    gateway.disconnect();
    gateway.kill();
    await victim.stop();
  }
}

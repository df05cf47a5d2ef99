import { readFileSync } from "node:fs";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { loadByteHashing } from "../../../src/lib/xxhash.ts";
import { DayReader } from "../../../src/pipeline/decode/day-reader.ts";
import { createGatewayClient } from "../../../src/pipeline/gateway/client.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { deadlineMs } from "../../support/deadline.ts";

/** Reads a large day from the server on the given port, twice, and prints what it saw and its peak memory as JSON. */
async function main(port: string): Promise<void> {
  const names = createWireNames({ word: "sensor", service: "SensorService.svc" });
  const hashing = await loadByteHashing();
  const client = createGatewayClient(
    { clock: systemClock, metrics: createMetrics() },
    {
      url: `http://127.0.0.1:${port}`,
      names,
      timeoutMs: deadlineMs(5_000),
      concurrency: 1,
      bodyBytesMax: 512 * 1024 * 1024,
    },
  );
  const idleMb = residentMb("VmRSS");
  const read = async (checkpoint: string | null) => {
    const request = {
      sensor: { code: "10234", type: 3 },
      kind: "accel",
      date: "2026-11-20",
    } as const;
    const answer = await client.read(request, new AbortController().signal);
    const reader = new DayReader({ kind: "accel", names, hashing, checkpoint });
    let [bytes, samples] = [0, 0];
    for await (const piece of answer.body) {
      bytes += piece.length;
      for (const item of reader.push(piece)) {
        if (!("record" in item)) throw new Error(item.reject.reason);
        for (const channel of item.record.channels) {
          if (channel.state === "ok") samples += channel.samples.length;
        }
      }
    }
    const result = reader.end();
    if (result.outcome !== "complete") throw new Error(result.outcome);
    return { bytes, samples, checkpoint: result.checkpoint, unchanged: result.unchanged };
  };
  const first = await read(null);
  const second = await read(first.checkpoint);
  await client.close();
  const peakMb = residentMb("VmHWM");
  console.log(JSON.stringify({ first, second, idleMb, peakMb }));
}

/** From the kernel's own account, which misses no moment. */
function residentMb(name: "VmRSS" | "VmHWM"): number {
  const line = new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync("/proc/self/status", "utf8"));
  return Number(line?.[1]) / 1_024;
}

void main(process.argv[2] ?? "");

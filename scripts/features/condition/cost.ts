/**
 * What the conditions of 300 machines cost beside storing and judging their readings: six sensors each, a reading a
 * minute. Prints the share of CPU time; the rest of the agent, which is not measured, makes it smaller.
 *   node --import tsx scripts/features/condition/cost.ts [--machines 300] [--minutes 5]
 */
import { parseArgs } from "node:util";
import type { SensorState } from "../../../src/core/agent-status.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { MachineConditions } from "../../../src/features/condition/machine-conditions.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { historyPages } from "../../../src/pipeline/store/readings/history-pages.ts";
import { testParts } from "../../../test/support/http-parts.ts";
import { openAlarms } from "../../../test/support/open-alarms.ts";
import { append, readingOf } from "../../../test/support/temp-database.ts";

const SENSORS = 6;
const LOOKS_PER_MINUTE = 12;
const MINUTE_MS = 60_000;

const { values } = parseArgs({
  options: { machines: { type: "string" }, minutes: { type: "string" } },
});
const machineCount = Number(values.machines ?? 300);
const minutes = Number(values.minutes ?? 5);

const sensors = Array.from({ length: machineCount * SENSORS }, (_, n): Sensor => {
  const machine = Math.floor(n / SENSORS);
  return {
    code: `${10_000 + n}`,
    type: 3,
    kinds: n % SENSORS === 0 ? ["rpm"] : ["accel"],
    channels: {},
    ...(n % SENSORS === 0 ? {} : { machineClass: "group2-rigid" as const }),
    location: { company: 1, area: 1, machine, point: n % SENSORS },
  };
});
const site: Site = {
  site: "plant",
  sensors,
  machines: Array.from({ length: machineCount }, (_, id) => ({
    id,
    name: `Machine ${id}`,
    running: { sensor: `${10_000 + id * SENSORS}`, kind: "rpm", value: "rpm", above: 300 },
  })),
};
const cleanups: (() => unknown)[] = [];
let nowMs = Date.UTC(2026, 10, 20, 12);
const opened = openAlarms({ after: (act) => void cleanups.push(act) }, site, nowMs);
const { alarms, store } = opened;
const newest = new Map<string, number>();
const states = (): SensorState[] =>
  sensors.map(({ code, kinds }) => ({
    code,
    state: "online",
    lastReadingMs: newest.get(code) ?? null,
    batteryV: 3.6,
    kinds: kinds.map((kind) => ({
      kind,
      lastReadingMs: newest.get(code) ?? null,
      cadenceS: 60,
      lastReadAtMs: nowMs,
      lastError: null,
      isSilent: false,
    })),
  }));
const parts = testParts({ site: fixedSite(site), gatewayNow: () => nowMs });
const conditions = new MachineConditions({
  ...parts,
  timezone: "UTC",
  logger: silentLogger,
  history: historyPages(store.history),
  alarms: alarms.actions,
  findings: alarms.findingViews,
  machineSignals: alarms.wait,
  sensors: states,
  outlook: () => [],
  gatewayNow: () => nowMs,
});
alarms.engines.onJudged((codes) => {
  for (const code of codes) conditions.judged(code);
});

const cpuMs = async (work: () => Promise<unknown>) => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};
let storing = 0;
let looking = 0;
await conditions.look();
// In the first minute each sensor is read for the first time.
for (let minute = -1; minute < minutes; minute++) {
  if (minute === 0) [storing, looking] = [0, 0];
  for (let part = 0; part < LOOKS_PER_MINUTE; part++) {
    nowMs += MINUTE_MS / LOOKS_PER_MINUTE;
    // At their own times: each of a machine in another look.
    const due = sensors.filter((_, n) => n % LOOKS_PER_MINUTE === part);
    const read = due.map(({ code, kinds: [kind = "rpm"] }) => {
      newest.set(code, nowMs);
      const level = 0.5 + Math.random();
      const measured =
        kind === "rpm"
          ? { rpm: 1480 }
          : {
              channel1_vel_rms: level,
              channel1_zone: "A",
              channel2_vel_rms: level,
              channel2_zone: "A",
            };
      return readingOf(code, nowMs, { kind, values: measured as never });
    });
    storing += await cpuMs(async () => {
      for (const reading of read) await append(store, [reading]);
    });
    looking += await cpuMs(() => {
      for (const reading of read) conditions.stored(reading);
      return conditions.lookForChanges();
    });
  }
}
const of = (ms: number) => `${(ms / minutes / 60).toFixed(1)} ms of CPU a second`;
console.log(
  `${machineCount} machines, ${sensors.length} readings a minute: storing and judging ${of(storing)}, conditions ${of(looking)} (${((100 * looking) / storing).toFixed(1)} %)`,
);
for (const act of cleanups.reverse()) await act();

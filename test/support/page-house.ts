/** The built dashboard over the HTTP room, with a site, readings and alarms that a test changes. */
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { AgentStatus } from "../../src/core/agent-status.ts";
import type { AlarmLists, ShownAlarm, ShownEvent } from "../../src/core/alarm/shown.ts";
import type { Machine } from "../../src/core/machine.ts";
import type { Sensor, SensorLocation } from "../../src/core/sensor.ts";
import type { Site } from "../../src/core/site.ts";
import type { AlarmActions, StandingAlarm } from "../../src/features/alarms/rules/view.ts";
import { MachineConditions } from "../../src/features/condition/machine-conditions.ts";
import type { FindingViews } from "../../src/features/diagnosis/api.ts";
import type { HttpOptions, HttpParts } from "../../src/http/parts.ts";
import { createApp } from "../../src/http/server.ts";
import { alarmParts } from "./alarm-parts.ts";
import { type Browser, openBrowser } from "./browser.ts";
import {
  agentStatus,
  OPTIONS,
  type ReadingInput,
  type TestParts,
  testParts,
} from "./http-parts.ts";

type TestAlarms = AlarmActions;

export interface HouseOptions {
  readonly sensors: readonly Sensor[];
  readonly machines?: readonly Machine[];
  readonly alarms?: TestAlarms | null;
  readonly findings?: FindingViews | null;
  readonly parts?: Partial<HttpParts>;
  readonly options?: Partial<HttpOptions>;
  readonly status?: Partial<AgentStatus>;
  /** Sensors that were read once are silent. */
  readonly areSilent?: boolean;
  readonly width?: number;
  readonly height?: number;
  /** The browser's. */
  readonly zone?: string;
}

export interface PageHouse extends Browser {
  readonly parts: TestParts;
  readonly url: string;
  /** Stores a reading and tells it to the page. */
  reading(input: ReadingInput): void;
  setSite(change: Partial<Site>): void;
  setStatus(change: Partial<AgentStatus>): void;
  /** Nothing answers any more. */
  stop(): Promise<void>;
}

/** Where a sensor of a test stands. */
export const placeOf = (machine: number, point = 1): SensorLocation => ({
  company: 1,
  area: 1,
  machine,
  point,
  names: { area: "Hall", machine: `Machine ${machine}`, point: `Point ${point}` },
});

/** Nothing is kept: a test changes what it likes. */
export function conditionsOf(
  parts: TestParts,
  alarms: TestAlarms | null,
  findings: FindingViews | null = null,
): MachineConditions {
  return new MachineConditions({
    ...parts,
    alarms,
    findings,
    timezone: "UTC",
    sensors: () => parts.status.status().sensors,
    machineSignals: { stateOf: () => null, speedAt: () => null, knownUntilMs: () => 0 },
    outlook: () => [],
  } as unknown as ConstructorParameters<typeof MachineConditions>[0]);
}

export async function openHouse(t: TestContext, of: HouseOptions): Promise<PageHouse> {
  const source: { current: Site } = {
    current: { site: "plant-7", sensors: of.sensors, machines: of.machines ?? [] },
  };
  let configuration = 1;
  let change = of.status ?? {};
  const startedAtMs = Date.now() - 3_600_000;
  const parts = testParts({
    site: source as HttpParts["site"],
    gatewayNow: () => Date.now(),
    configuration: {
      inEffect: () => ({ site: source.current, uplinks: [] }),
      compare: () => [],
      reload: () => Promise.resolve({}),
    } as unknown as NonNullable<HttpParts["configuration"]>,
    status: { status: statusNow },
    ...alarmParts(
      {
        alarms: of.alarms ?? null,
        findings: of.findings ?? null,
        conditions: { worstFirst: () => conditionsNow().worstFirst() },
      },
      Date.now,
    ),
    ...of.parts,
  });
  const conditionsNow = () => conditionsOf(parts, of.alarms ?? null, of.findings ?? null);
  function statusNow(): AgentStatus {
    const sensors = source.current.sensors.map(
      ({ code, kinds }): AgentStatus["sensors"][number] => {
        const times = kinds.flatMap((kind) => parts.history.latest(code, kind)?.timeMs ?? []);
        const lastReadingMs = times.length === 0 ? null : Math.max(...times);
        const reads = kinds.map((kind) => ({
          kind,
          lastReadingMs,
          cadenceS: 60,
          isSilent: false,
          lastError: null,
          lastReadAtMs: null,
        }));
        const state = lastReadingMs === null ? "unknown" : of.areSilent ? "silent" : "online";
        return { code, state, lastReadingMs, batteryV: null, kinds: reads };
      },
    );
    return agentStatus({
      nowMs: Date.now(),
      startedAtMs,
      configuration: configuration.toString(16).padStart(12, "0"),
      sensors,
      ...change,
    });
  }
  const options = { ...OPTIONS, dashboardDir: join("dist", "dashboard"), ...of.options };
  const app = createApp(parts, options);
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => app.close());
  const browser = await openBrowser(t, {
    width: of.width ?? 1280,
    height: of.height ?? 900,
    ...(of.zone !== undefined && { zone: of.zone }),
  });
  return {
    ...browser,
    parts,
    url,
    reading(input) {
      parts.emit({ type: "reading", reading: parts.history.add(input) });
    },
    setSite(next) {
      source.current = { ...source.current, ...next };
      configuration += 1;
    },
    setStatus(next) {
      change = { ...change, ...next };
    },
    stop: async () => app.close(),
  };
}

/** A channel's velocity and zone, as a vibration sensor tells it now. */
export function vibration(
  sensor: string,
  mmS: number,
  zone: string,
  timeMs = Date.now(),
): ReadingInput {
  return {
    sensor,
    kind: "accel",
    timeMs,
    values: { channel1_vel_rms: mmS, channel1_zone: zone },
    units: { channel1_vel_rms: "mm/s" },
  };
}

export const alarmOf = (more: Partial<ShownAlarm>): ShownAlarm => ({
  id: `${"0".repeat(31)}1`,
  sensor: "1001",
  kind: "accel",
  value: "channel1_vel_rms",
  alarm: "zone",
  severity: "warning",
  state: "active",
  unit: "mm/s",
  acknowledged: null,
  shelved: null,
  since: new Date().toISOString(),
  raised: new Date().toISOString(),
  text: "Velocity in zone C.",
  ...more,
});

interface AlarmTable {
  readonly active: ShownAlarm[];
  readonly acknowledged: ShownAlarm[];
  readonly shelved: ShownAlarm[];
  readonly events: (ShownEvent & { readonly seq: number })[];
}

function withoutSeq(event: AlarmTable["events"][number]): ShownEvent {
  const { seq: _, ...rest } = event;
  return rest;
}

const standingOf = (one: ShownAlarm): StandingAlarm => ({
  id: one.id,
  sensor: one.sensor,
  alarm: one.alarm,
  value: one.value,
  severity: one.severity ?? "warning",
  isAcknowledged: one.acknowledged !== null,
  isShelved: (one.shelved ?? null) !== null,
  sinceMs: Date.parse(one.since ?? ""),
  text: one.newest?.text ?? one.text ?? "",
});

/** Alarms in memory; a test writes into the table. */
export function alarmsOf(change: Partial<AlarmTable> = {}) {
  const table: AlarmTable = { active: [], acknowledged: [], shelved: [], events: [], ...change };
  const parts = {
    lists({
      limit,
      before,
    }: {
      readonly limit: number;
      readonly before: number | null;
    }): AlarmLists {
      const rest = table.events
        .filter((event) => before === null || event.seq < before)
        .slice(0, limit);
      return {
        active: table.active,
        acknowledged: table.acknowledged,
        shelved: table.shelved,
        history: rest.map(withoutSeq),
        before: rest.length < limit || limit === 0 ? null : (rest.at(-1)?.seq ?? null),
      };
    },
    counts: () => ({
      alarm: table.active.filter(({ severity }) => severity === "alarm").length,
      warning: table.active.filter(({ severity }) => severity === "warning").length,
      acknowledged: table.acknowledged.length,
      shelved: table.shelved.length,
    }),
    limits: () => [],
    baselines: () => [],
    severity: () => null,
    actions: () => [],
    act({ id, by, note }: { readonly id: string; readonly by: string; readonly note?: string }) {
      const at = table.active.findIndex((one) => one.id === id);
      const found = table.active[at];
      if (found === undefined)
        return Promise.resolve({
          ok: false,
          reason: "conflict",
          detail: "Someone else has already acknowledged it.",
        });
      table.active.splice(at, 1);
      const acknowledged = { by, time: new Date().toISOString(), note: note ?? null };
      table.acknowledged.push({ ...found, acknowledged });
      return Promise.resolve({ ok: true, alarm: found });
    },
    revision: 1,
    changedSince: () => null,
    // Nothing is kept of them: one text for each sensor is enough.
    marks: () => new Map(parts.standing().map(({ sensor }) => [sensor, "open"])),
    standing: () =>
      [...table.active, ...table.acknowledged, ...table.shelved].flatMap((one) =>
        one.state === "active" ? [standingOf(one)] : [],
      ),
    relearn: () => Promise.resolve({ ok: true, detail: "" }),
  };
  return { table, alarms: parts as unknown as TestAlarms };
}

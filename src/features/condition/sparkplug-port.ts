/** The machines of an uplink as Sparkplug devices show them, at the pace of every output. */
import { findingKey } from "../../core/diagnosis/finding.ts";
import type { Clock } from "../../core/ports.ts";
import {
  machineDevice,
  type SiteMachine,
  selectsMachine,
  siteMachines,
} from "../../core/site-machines.ts";
import { fromSite, type SiteSource } from "../../core/site-source.ts";
import type { Uplink } from "../../core/uplink.ts";
import { possibleFindings } from "../diagnosis/api.ts";
import { othersMs } from "./machine-board.ts";
import type { MachineConditions, MachineNow } from "./machine-conditions.ts";
import {
  dailyMs,
  dueAt,
  isUnsure,
  looked,
  type SentMachine,
  sentNow,
} from "./rules/machine-pace.ts";
import { type MachineKeys, machineKeys } from "./rules/machine-payload.ts";

interface PortParts {
  readonly site: SiteSource;
  readonly conditions: Pick<MachineConditions, "current" | "onLook" | "want">;
  readonly clock: Pick<Clock, "monotonic">;
}

const METRICS = [
  { name: "condition", type: "String" },
  { name: "reason", type: "String" },
  { name: "zone", type: "String" },
  { name: "running", type: "Boolean" },
  { name: "stage", type: "Int32" },
  { name: "since", type: "DateTime" },
  { name: "acknowledged", type: "Boolean" },
] as const;

type Value = string | number | boolean | null;
type Values = Record<string, Value>;

export function sparkplugMachines(uplink: Uplink, { site, conditions, clock }: PortParts) {
  const pace = { othersMs: othersMs(uplink) };
  const devices = fromSite(site, (current) =>
    siteMachines(current)
      .filter((machine) => selectsMachine(uplink.select, machine))
      .map((machine) => {
        const configured = current.machines?.find(({ id }) => id === machine.id);
        const findings = new Set(
          machine.sensors.flatMap((sensor) => possibleFindings(configured, sensor)),
        );
        const id = machineDevice(machine.id);
        const dayMs = dailyMs(current.site, machine.id);
        return { machine, id, findings: [...findings], dayMs };
      }),
  );
  const declared = fromSite(site, () =>
    devices().map(({ id, findings }) => ({
      id,
      metrics: [
        ...METRICS,
        ...findings.map((key) => ({ name: `finding/${key}`, type: "Int32" as const })),
      ],
    })),
  );
  const keys = new WeakMap<MachineNow["members"], MachineKeys>();
  const keysOf = (machine: MachineNow) => {
    const made = keys.get(machine.members) ?? machineKeys(machine, uplink.compact);
    keys.set(machine.members, made);
    return made;
  };
  const given = new Map<string, { values: Values; sent: SentMachine }>();
  const known = (): Map<number, MachineNow> =>
    new Map(
      conditions.current
        .filter(({ isSettled }) => isSettled)
        .map((machine) => [machine.id, machine]),
    );
  const stateOf = (machine: MachineNow | undefined) => ({
    keys: machine === undefined ? NOTHING : keysOf(machine),
    isAlarm: machine?.members.condition === "alarm",
    session: 0,
  });
  return {
    devices: declared,
    birth(id: string): Values {
      const device = devices().find((one) => one.id === id);
      if (device === undefined) return {};
      const machine = known().get(device.machine.id);
      const values =
        machine === undefined ? {} : valuesOf(machine, device.findings, uplink.compact);
      given.set(id, { values, sent: sentNow(undefined, stateOf(machine), clock.monotonic()) });
      return values;
    },
    due(): (readonly [string, Values])[] {
      const machines = known();
      const now = clock.monotonic();
      return devices().flatMap(({ id, machine, findings, dayMs }) => {
        const current = machines.get(machine.id);
        const last = given.get(id);
        if (current === undefined || last === undefined) return [];
        const state = stateOf(current);
        const before = { ...last, sent: looked(last.sent, state) };
        if (before.sent !== last.sent) given.set(id, before);
        // What is known for the first time since the birth waits for nothing.
        const isFirst = before.sent.keys === NOTHING;
        const isDue = isFirst || now >= dueAt(before.sent, state, pace, dayMs, now);
        const isOpen = !isDue && isUnsure(before.sent, pace, now);
        if (current.isStale && (isDue || isOpen)) conditions.want(machine.id);
        else if (isOpen) given.set(id, { ...before, sent: { ...before.sent, comparedAt: now } });
        if (!isDue || current.isStale) return [];
        const values = valuesOf(current, findings, uplink.compact);
        const changed = Object.entries(values).filter(
          ([name, value]) => value !== (before.values[name] ?? null),
        );
        given.set(id, { values, sent: sentNow(before.sent, state, now) });
        return changed.length === 0 ? [] : [[id, Object.fromEntries(changed)] as const];
      });
    },
    follow: () => conditions.onLook(() => {}),
  };
}

const NOTHING = { change: "", rest: "" };

function valuesOf(
  { members }: MachineNow,
  findings: readonly string[],
  isCompact: boolean,
): Values {
  const { condition, reason, zone, running, stage, since, acknowledged, activeFindings } = members;
  const stages = new Map<string, number>();
  for (const found of activeFindings) {
    const key = findingKey(found.finding, found.bearing);
    stages.set(key, Math.max(stages.get(key) ?? 0, found.stage));
  }
  return {
    condition,
    reason: isCompact ? null : reason,
    zone,
    running,
    stage: stage ?? 0,
    since: since === null ? null : Date.parse(since),
    acknowledged,
    ...Object.fromEntries(findings.map((key) => [`finding/${key}`, stages.get(key) ?? 0])),
  };
}

/** Where a sensor stands, in names: the machine's as everywhere, else the id. */
export function placeNames(site: SiteSource): (code: string) => readonly [string, string | null][] {
  const machines = fromSite(
    site,
    (current) => new Map(siteMachines(current).map((one): [number, SiteMachine] => [one.id, one])),
  );
  const sensors = fromSite(
    site,
    (current) => new Map(current.sensors.map((sensor) => [sensor.code, sensor])),
  );
  return (code) => {
    const sensor = sensors().get(code);
    const location = sensor?.location;
    const machine = location === undefined ? undefined : machines().get(location.machine);
    return [
      ["info/name", sensor?.name ?? null],
      ["info/machine", location === undefined ? null : (machine?.name ?? `${location.machine}`)],
      ["info/area", location === undefined ? null : (location.names?.area ?? `${location.area}`)],
    ];
  };
}

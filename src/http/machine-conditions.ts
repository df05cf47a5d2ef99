/** What the machines' conditions are made of: the site file, the newest readings, alarms and findings. */
import { valueLabel } from "../core/alarm/sentence.ts";
import type { RankedMachine } from "../core/diagnosis/shown.ts";
import {
  type EarliestOutlook,
  type MachineCondition,
  machineCondition,
} from "../core/machine-condition/condition.ts";
import { worseFirst } from "../core/machine-condition/order.ts";
import { firstReadingMs, type PlaceSpan, placeSpans } from "../core/query/place.ts";
import { formerCodes, successors } from "../core/replacement.ts";
import { normalCode, type Sensor, sameCode } from "../core/sensor.ts";
import { HOUR_MS, MINUTE_MS } from "../core/time-units.ts";
import { conditionSensor, zoneAt } from "./condition-sensor.ts";
import { type ConditionSubject, type KnownSensors, subjectsOf } from "./condition-subjects.ts";
import { type MachineChange, machineChange } from "./machine-change.ts";
import { outlookFor } from "./machine-outlook.ts";
import { bySensor, findingKey } from "./open-alarms.ts";
import type { HttpParts } from "./parts.ts";
import { StandingSince } from "./standing-since.ts";
import { type MemorySource, TimedMemory } from "./timed-memory.ts";
import { yieldToLoop } from "./yield-to-loop.ts";

type ConditionParts = Pick<
  HttpParts,
  | "site"
  | "status"
  | "history"
  | "hours"
  | "measurements"
  | "dayMedians"
  | "alarms"
  | "findings"
  | "machineSignals"
  | "gatewayNow"
  | "clock"
>;

/** A large site that was just started shows its machines at once; what their past says follows with the next responses. */
const COMPUTE_MS = 500;

export class MachineConditions {
  readonly #parts: ConditionParts;
  readonly #standing: StandingSince;
  readonly #outlooks = new TimedMemory<EarliestOutlook | null>(OUTLOOK_MS);
  readonly #changes = new TimedMemory<MachineChange>(CHANGE_MS);

  constructor(parts: ConditionParts) {
    this.#parts = parts;
    this.#standing = new StandingSince(parts.history);
  }

  /** The response's entries, worst first. Yields to other work after each machine. */
  async worstFirst(): Promise<readonly RankedMachine[]> {
    const known = this.#known();
    const entries = [];
    for (const subject of subjectsOf(this.#parts.site.current.sensors, this.#machines(), known)) {
      entries.push(await this.#entry(subject, known));
      await yieldToLoop();
    }
    return entries
      .toSorted((a, b) => worseFirst(a.ranked, b.ranked))
      .map(({ members }, at) => ({ ...members, order: at + 1 }));
  }

  /** One machine, with the zones of its sensors by normalised code; null if nothing names it. */
  async of(id: number) {
    const known = this.#known();
    for (const subject of subjectsOf(this.#parts.site.current.sensors, this.#machines(), known)) {
      if (subject.id !== id) continue;
      const { members } = await this.#entry(subject, known);
      const zones = subject.sensors.map(
        (sensor) => [normalCode(sensor.code), zoneAt(this.#parts, sensor, known.nowMs)] as const,
      );
      return { ...members, zones: new Map(zones) };
    }
    return null;
  }

  #machines() {
    return this.#parts.site.current.machines ?? [];
  }

  #known(): KnownSensors {
    const { status, alarms, findings, gatewayNow, clock } = this.#parts;
    const startedAt = clock.monotonic();
    const machines = new Map(findings?.machines().map((machine) => [machine.id, machine]));
    const stages = new Map<string, 1 | 2 | 3>();
    for (const { id, findings: count } of machines.values()) {
      if (count === 0) continue;
      for (const finding of findings?.findingsOf(id)?.findings ?? [])
        stages.set(findingKey(finding.sensor, finding.finding, finding.bearing), finding.stage);
    }
    return {
      nowMs: gatewayNow(),
      states: new Map(status.status().sensors.map((state) => [normalCode(state.code), state])),
      alarms: alarms === null ? null : bySensor(alarms.lists({ limit: 0, before: null }), stages),
      machines,
      mayCompute: () => clock.monotonic() - startedAt < COMPUTE_MS,
    };
  }

  /** Alarms of a sensor that was replaced stand for its place until the next one there has a reading. */
  #codesOf(sensors: readonly Sensor[]): readonly string[] {
    const all = this.#parts.site.current.sensors;
    const codes = sensors.flatMap((sensor) => [sensor.code, ...formerCodes(all, sensor)]);
    return [...new Set(codes.map(normalCode))];
  }

  async #entry(subject: ConditionSubject, known: KnownSensors) {
    const { machineSignals } = this.#parts;
    const { id, sensors } = subject;
    const machine = this.#machines().find((one) => one.id === id);
    const state = id === null ? null : machineSignals.stateOf(id, known.nowMs);
    const standing =
      state === "standing" && machine?.running !== undefined
        ? await this.#standing.of(
            machine.id,
            machine.running,
            this.#signalSpans(machine.running.sensor),
            known.nowMs,
          )
        : null;
    const recordsEndMs = standing === null ? known.nowMs : standing.timeMs;
    const found = machineCondition({
      state,
      standing,
      sensors: sensors.map((sensor) => conditionSensor(this.#parts, sensor, known, recordsEndMs)),
      alarms:
        known.alarms === null
          ? null
          : this.#codesOf(sensors).flatMap((code) => known.alarms?.get(code) ?? []),
      outlook: id === null ? null : this.#outlook(id, state === "standing", known),
      nowMs: known.nowMs,
    });
    const change = this.#changes.of(
      `${id}/${subject.sensor}/${found.alarms[0]?.id}`,
      this.#sourceOf(known),
      known.mayCompute(),
      () => machineChange(this.#parts, sensors, found.alarms, known.nowMs),
    );
    const view = id === null ? undefined : known.machines.get(id);
    const label =
      subject.name ?? (id === null ? `Sensor ${subject.sensor}` : `Machine ${String(id)}`);
    const members = {
      id,
      sensor: subject.sensor,
      name: subject.name,
      area: subject.area,
      state,
      speedRpm: id === null ? null : machineSignals.speedAt(id, known.nowMs),
      sensors: sensors.map(({ code }) => code),
      findings: view?.findings ?? 0,
      worstStage: view?.worstStage ?? null,
      ...conditionMembers(found),
      ...(change ?? { changed: null, zoneSince: null }),
    };
    return { ranked: { ...found, label }, members };
  }

  /** A signal goes on with the sensor that replaces its own. */
  #signalSpans(code: string): readonly PlaceSpan[] {
    const { sensors } = this.#parts.site.current;
    const present = successors(sensors).get(normalCode(code))?.code ?? code;
    return placeSpans(sensors, present, (sensor) => firstReadingMs(this.#parts, sensor));
  }

  #sourceOf({ nowMs }: KnownSensors): MemorySource {
    const { dayMedians, site } = this.#parts;
    return { of: site.current, version: dayMedians.changes, nowMs };
  }

  /** The one that begins first. */
  #outlook(id: number, isStanding: boolean, known: KnownSensors): EarliestOutlook | null {
    const key = `${id}/${String(isStanding)}`;
    return this.#outlooks.of(key, this.#sourceOf(known), known.mayCompute(), () => {
      const told = (outlookFor(id, this.#parts)?.values ?? []).flatMap(
        ({ outlook, text, ...one }) =>
          outlook === null
            ? []
            : [
                {
                  fromMs: Date.parse(outlook.from),
                  text: this.#named(one.sensor, one.value, text),
                },
              ],
      );
      return told.sort((a, b) => a.fromMs - b.fromMs)[0] ?? null;
    });
  }

  #named(code: string, value: string, text: string): string {
    const sensor = this.#parts.site.current.sensors.find((one) => sameCode(one.code, code));
    return sensor === undefined ? text : `${valueLabel(sensor, value)}: ${text}`;
  }
}

/** Day rows are made once an hour, and more often while days are being read. */
const OUTLOOK_MS = HOUR_MS;
const CHANGE_MS = 10 * MINUTE_MS;

function conditionMembers(found: MachineCondition) {
  const { condition, reason, unknown, since, alarms, isAcknowledged, stage, zone, marks } = found;
  const { outlookMs } = found;
  return {
    condition,
    reason,
    unknown,
    since: since === null ? null : new Date(since.timeMs).toISOString(),
    sinceAtLeast: since?.isAtLeast ?? false,
    acknowledged: isAcknowledged,
    stage,
    zone,
    outlook: outlookMs === null ? null : new Date(outlookMs).toISOString(),
    marks,
    alarms: alarms.map(({ id, sensor, alarm, value, severity, text, ...rest }) => ({
      id,
      sensor,
      alarm,
      value,
      severity,
      acknowledged: rest.isAcknowledged,
      since: new Date(rest.sinceMs).toISOString(),
      text,
    })),
  };
}

/** Computes the condition of one machine, or of a sensor without one. */

import type { RankedMachine } from "../../core/condition/shown.ts";
import type { FindingView } from "../../core/diagnosis/shown.ts";
import type { Machine } from "../../core/machine.ts";
import { firstReadingMs, type PlaceSpan, placeSpans } from "../../core/query/place.ts";
import { formerCodes, successors } from "../../core/replacement.ts";
import { normalCode, type Sensor, sameCode } from "../../core/sensor.ts";
import { isNamed, placeInSite } from "../../core/sensor-names.ts";
import { shaftAt } from "../../core/shaft.ts";
import { HOUR_MS, MINUTE_MS } from "../../core/time-units.ts";
import { valueLabel } from "../alarms/api.ts";
import type { ConditionParts } from "./condition-parts.ts";
import { ConditionSensors, type NewReading } from "./condition-sensor.ts";
import {
  type ConditionSubject,
  type KnownSensors,
  subjectKey,
  type Told,
} from "./condition-subjects.ts";
import { type MachineChange, machineChange } from "./machine-change.ts";
import { staged, unshelved } from "./open-alarms.ts";
import {
  type EarliestOutlook,
  type MachineCondition,
  machineCondition,
  watchBeginsMs,
} from "./rules/condition.ts";
import type { OutlookSpan } from "./rules/machine-payload.ts";
import type { Ranked } from "./rules/order.ts";
import { StandingSince } from "./standing-since.ts";
import { type MemorySource, TimedMemory } from "./timed-memory.ts";

export interface MachineEntry {
  readonly subject: ConditionSubject;
  readonly members: Omit<RankedMachine, "order">;
  readonly ranked: Ranked;
  readonly outlook: (EarliestOutlook & OutlookSpan) | null;
  /** Time of its newest judged reading, ms; null: none. */
  readonly judgedMs: number | null;
  /** When it was computed, and when time alone could change it, ms by the gateway's clock. */
  readonly madeMs: number;
  readonly untilMs: number;
  /** There was no time to look back over days. */
  readonly isBehind: boolean;
}

/** Day rows are made once an hour, and more often while days are being read. */
const OUTLOOK_MS = HOUR_MS;
const CHANGE_MS = 15 * MINUTE_MS;

export class EntryMaker {
  readonly #parts: ConditionParts;
  readonly #standing: StandingSince;
  readonly #sensors: ConditionSensors;
  readonly #outlooks = new TimedMemory<(EarliestOutlook & OutlookSpan) | null>(OUTLOOK_MS);
  readonly #changes = new TimedMemory<MachineChange>(CHANGE_MS);

  constructor(parts: ConditionParts) {
    this.#parts = parts;
    this.#standing = new StandingSince(parts.history);
    this.#sensors = new ConditionSensors(parts);
  }

  /** What is known of a sensor counts no longer. */
  note(sensor: string): void {
    this.#sensors.note(sensor);
  }

  /** The site file is another one. */
  clear(): void {
    this.#sensors.clear();
  }

  stored(reading: NewReading): void {
    this.#standing.stored(reading);
    this.#sensors.stored(reading);
  }

  /** Whether what was stored or judged of a sensor changes nothing that conditions are made of. @param code normalised */
  saysTheSame(code: string, nowMs: number): boolean {
    return this.#sensors.saysTheSame(code, nowMs);
  }

  /** Whether the machine's signals say nothing else. */
  holds(entry: MachineEntry, { isSignal }: Told, nowMs: number): boolean {
    const { members, subject, untilMs } = entry;
    const { id } = subject;
    const { condition, state } = members;
    // Time has changed it, whatever the signals say.
    if (nowMs >= untilMs) return false;
    // The first is dated by its sensors' readings, the second by those of its signal.
    if (condition === "unknown" || (isSignal && state === "standing")) return false;
    return id === null || this.#parts.machineSignals.stateOf(id, nowMs) === state;
  }

  /** The same with the time of a sensor's newest reading. @param code normalised */
  continued(entry: MachineEntry, code: string, { isOwn, isSignal }: Told, nowMs: number) {
    const ownMs = isOwn ? this.#sensors.judgedMs(code) : null;
    const judgedMs = Math.max(ownMs ?? 0, entry.judgedMs ?? 0) || null;
    if (!isSignal) return { ...entry, judgedMs };
    const changeMs = this.#untilMs(entry.subject.id, entry.outlook, nowMs);
    return { ...entry, judgedMs, untilMs: Math.min(entry.madeMs + CHANGE_MS, changeMs) };
  }

  async make(subject: ConditionSubject, known: KnownSensors): Promise<MachineEntry> {
    const { findings, machineSignals } = this.#parts;
    const { nowMs } = known;
    const { id, sensors } = subject;
    const state = id === null ? null : machineSignals.stateOf(id, nowMs);
    const standing = state === "standing" ? await this.#standingSince(id, nowMs) : null;
    const found = id === null ? null : (findings?.findingsOf(id) ?? null);
    const open = this.#alarmsOf(sensors, known);
    const alarms = open === null ? null : staged(open, found?.findings ?? []);
    const told = id === null ? null : this.#outlook(id, state === "standing", known);
    const outlook = told?.value ?? null;
    const standingMs = standing?.timeMs ?? null;
    const moment = { known, standingMs, checked: found?.checked ?? [] };
    const judged = sensors.map((sensor) => this.#sensors.of(sensor, moment));
    const judgedTimes = judged.flatMap(({ judgedMs }) => judgedMs ?? []);
    const condition = machineCondition({
      state,
      standing,
      sensors: judged,
      alarms,
      outlook,
      nowMs,
    });
    const change = this.#changes.of(
      `${subjectKey(subject)}/${condition.alarms[0]?.id}`,
      this.#sourceOf(known),
      known.mayLookBack,
      () => machineChange(this.#parts, sensors, condition.alarms, nowMs),
    );
    const name = subject.name ?? (id === null ? `Sensor ${subject.sensor}` : `Machine ${id}`);
    const members = {
      id,
      sensor: subject.sensor,
      name: subject.name,
      area: subject.area,
      state,
      running: state === null ? null : state === "running",
      speedRpm: id === null ? null : machineSignals.speedAt(id, nowMs),
      sensors: sensors.map(({ code }) => code),
      findings: found?.machine.findings ?? 0,
      worstStage: found?.machine.worstStage ?? null,
      ...conditionMembers(condition),
      ...(change.value ?? { changed: null, zoneSince: null }),
      activeFindings: unshelved(found?.findings ?? [], alarms ?? []).map((one) =>
        activeFinding(
          one,
          this.#parts.site.current.machines?.find((machine) => machine.id === id),
        ),
      ),
    };
    const isBehind = change.isBehind || told?.isBehind === true;
    const untilMs = this.#untilMs(id, outlook, nowMs);
    const ranked = { ...condition, label: name };
    const judgedMs = judgedTimes.length === 0 ? null : Math.max(...judgedTimes);
    return { subject, members, ranked, outlook, judgedMs, madeMs: nowMs, untilMs, isBehind };
  }

  #untilMs(id: number | null, outlook: EarliestOutlook | null, nowMs: number): number {
    const signalsMs = id === null ? null : this.#parts.machineSignals.knownUntilMs(id, nowMs);
    const watchMs = outlook === null ? null : watchBeginsMs(outlook);
    const times = [signalsMs, watchMs].filter((ms) => ms !== null && ms > nowMs);
    return Math.min(nowMs + CHANGE_MS, ...times.map(Number));
  }

  async #standingSince(id: number | null, nowMs: number) {
    const machine = this.#parts.site.current.machines?.find((one) => one.id === id);
    if (machine?.running === undefined) return null;
    const { running } = machine;
    return this.#standing.of(machine.id, running, this.#signalSpans(running.sensor), nowMs);
  }

  /** Alarms of a sensor that was replaced stand for its place until the next one there has a reading. */
  #alarmsOf(sensors: readonly Sensor[], { alarms }: KnownSensors) {
    if (alarms === null) return null;
    const all = this.#parts.site.current.sensors;
    const codes = sensors.flatMap((sensor) => [sensor.code, ...formerCodes(all, sensor)]);
    return [...new Set(codes.map(normalCode))].flatMap((code) => alarms.get(code) ?? []);
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
  #outlook(id: number, isStanding: boolean, known: KnownSensors) {
    const key = `${id}/${String(isStanding)}`;
    return this.#outlooks.of(key, this.#sourceOf(known), known.mayLookBack, () => {
      const values = this.#parts.outlook(id);
      const told = values.flatMap(({ outlook, sensor, value, text }) =>
        outlook === null
          ? []
          : [
              {
                fromMs: Date.parse(outlook.from),
                text: this.#named(sensor, value, text),
                sensor,
                value,
                from: outlook.from,
                to: outlook.to,
              },
            ],
      );
      return told.sort((a, b) => a.fromMs - b.fromMs)[0] ?? null;
    });
  }

  #named(code: string, value: string, text: string): string {
    const site = this.#parts.site.current;
    const sensor = site.sensors.find((one) => sameCode(one.code, code));
    if (sensor === undefined) return text;
    const where = isNamed(sensor) ? ` at ${placeInSite(sensor, site)}` : "";
    return `${valueLabel(sensor, value)}${where}: ${text}`;
  }
}

const activeFinding = (
  found: FindingView,
  machine: Machine | undefined,
): RankedMachine["activeFindings"][number] => {
  const { finding, bearing, sensor, stage, since, text, point } = found;
  const shaft = machine && point !== null ? shaftAt(machine, { point }) : null;
  return { finding, bearing, shaft: shaft?.name ?? null, sensor, stage, since, text };
};

function conditionMembers(found: MachineCondition) {
  const { condition, reason, unknown, since, alarms, isAcknowledged, stage, zone, marks } = found;
  const { outlookMs } = found;
  const countOf = (severity: "alarm" | "warning") =>
    alarms.filter((one) => one.severity === severity).length;
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
    alarmCount: { alarm: countOf("alarm"), warning: countOf("warning") },
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

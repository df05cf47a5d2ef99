/** What each sensor tells of the condition of its machine. */
import type { SensorState } from "../../core/agent-status.ts";
import { isDamagedRecord, undamagedValues } from "../../core/damaged-record.ts";
import type { CheckedSensor } from "../../core/diagnosis/shown.ts";
import { readingZone } from "../../core/query/reading-zone.ts";
import { isRead, type Kind, normalCode, readingKinds, type Sensor } from "../../core/sensor.ts";
import { nameAtStart } from "../../core/sensor-names.ts";
import { SILENT_AFTER_INTERVALS, UNKNOWN_CADENCE_MS } from "../../core/silence.ts";
import { isDatedAhead, type StoredReading } from "../../core/stored-reading.ts";
import { MINUTE_MS } from "../../core/time-units.ts";
import type { Zone } from "../../pipeline/signal/severity.ts";
import type { ConditionParts } from "./condition-parts.ts";
import type { KnownSensors } from "./condition-subjects.ts";
import { isOfRunning } from "./machine-change.ts";
import type { ConditionSensor } from "./rules/condition.ts";

type SensorParts = Pick<ConditionParts, "history" | "alarms" | "site">;

/** Records that are looked through for the last one of the running machine. */
const RECORDS_WALKED = 50;

/** What readings, limits and checks say of a sensor: the same until something of it is stored or judged. */
interface SensorFacts {
  readonly judged: readonly (Pick<StoredReading, "kind" | "timeMs"> & {
    /** False: the newest one is of a damaged record. */
    readonly isNewest: boolean;
  })[];
  readonly zone: Zone | null;
  /** With another one they are made anew. */
  readonly source: string;
  readonly madeMs: number;
}

export interface SensorMoment {
  readonly known: KnownSensors;
  /** What is newer was recorded while the machine stood still; null: it does not. */
  readonly standingMs: number | null;
  /** What was looked for on the machine's sensors. */
  readonly checked: readonly CheckedSensor[];
}

/** Kept at most this long, whatever was noted, ms. */
const FACTS_MS = 15 * MINUTE_MS;

/** Each sensor for itself: a reading of one changes nothing of the others on its machine. */
export class ConditionSensors {
  readonly #parts: SensorParts;
  readonly #facts = new Map<string, SensorFacts>();

  constructor(parts: SensorParts) {
    this.#parts = parts;
  }

  /** Something of it was stored or judged. */
  note(code: string): void {
    this.#facts.delete(normalCode(code));
  }

  /** The site file is another one. */
  clear(): void {
    this.#facts.clear();
  }

  of(sensor: Sensor, moment: SensorMoment): ConditionSensor & { readonly judgedMs: number | null } {
    const { code, batteryLowV } = sensor;
    const { known } = moment;
    const { judged, zone } = this.#factsOf(sensor, moment);
    const state = known.states.get(normalCode(code));
    return {
      code,
      judgedMs: judged.length === 0 ? null : Math.max(...judged.map(({ timeMs }) => timeMs)),
      name: nameAtStart(sensor, this.#parts.site.current),
      isRead: isRead(sensor),
      lastReadingMs: state?.lastReadingMs ?? null,
      isFresh: state?.state === "online",
      isJudged: hasClass(sensor) || judged.length > 0,
      isJudgedNow: judged.some(
        (reading) =>
          isKindFresh(state, reading.kind) &&
          (reading.isNewest || isYoung(state, reading, known.nowMs)),
      ),
      zone,
      isBatteryLow:
        batteryLowV !== undefined &&
        typeof state?.batteryV === "number" &&
        state.batteryV < batteryLowV,
    };
  }

  #factsOf(sensor: Sensor, { known, standingMs, checked: all }: SensorMoment): SensorFacts {
    const key = normalCode(sensor.code);
    const { nowMs } = known;
    const checked = all.find((one) => normalCode(one.sensor) === key);
    const source = JSON.stringify([standingMs, checked?.readingId, checked?.lookedFor.length]);
    const kept = this.#facts.get(key);
    if (kept?.source === source && Math.abs(nowMs - kept.madeMs) < FACTS_MS) return kept;
    const isJudged = judgesOf(this.#parts, sensor, checked);
    const latest = readingKinds(sensor).map((kind) =>
      this.#parts.history.latest(sensor.code, kind),
    );
    const judged = latest.flatMap((newest) => {
      const reading = soundOf(this.#parts, newest);
      if (reading === null || !isJudged(reading)) return [];
      return [{ kind: reading.kind, timeMs: reading.timeMs, isNewest: reading === newest }];
    });
    const accel = latest.find((reading) => reading?.kind === "accel");
    const zone = zoneAt(this.#parts, sensor, standingMs ?? nowMs, accel);
    const facts = { judged, zone, source, madeMs: nowMs };
    // What is newer than now counts later, without a note.
    if (accel === undefined || accel === null || accel.timeMs <= nowMs) this.#facts.set(key, facts);
    return facts;
  }
}

/** Whether a zone, a rule, a learned baseline or a check for findings judged a value of a reading. */
function judgesOf({ alarms }: SensorParts, { code }: Sensor, checked: CheckedSensor | undefined) {
  const limits = () => (alarms?.limits(code) ?? []).filter(({ alarm }) => alarm !== "battery_low");
  const baselines = () =>
    (alarms?.baselines(code) ?? []).filter(({ status }) => status !== "learning");
  return (reading: StoredReading): boolean => {
    const values = undamagedValues(reading);
    const isThere = (value: string) => (values[value] ?? null) !== null;
    return (
      readingZone(values) !== null ||
      limits().some((limit) => limit.kind === reading.kind && isThere(limit.value)) ||
      baselines().some(({ value }) => isThere(value)) ||
      (reading.kind === "accel" &&
        checked?.readingId === reading.id &&
        checked.lookedFor.length > 0)
    );
  };
}

/** Zone of the last record of the running machine until a time, ms. @param newest the newest record, if it is known */
export function zoneAt(
  { history }: Pick<SensorParts, "history">,
  { code, kinds }: Sensor,
  endMs: number,
  newest: StoredReading | null = null,
): Zone | null {
  if (!kinds.includes("accel")) return null;
  if (newest !== null && newest.timeMs <= endMs && isShown(newest))
    return readingZone(undamagedValues(newest));
  const range = { sensor: code, kind: "accel", fromMs: 0, toMs: endMs + 1 } as const;
  // Nearly always the first one is of the running machine.
  for (const limit of [1, RECORDS_WALKED]) {
    const page = { ...range, order: "descending", after: null, limit } as const;
    const last = history.page(page).find(isShown);
    if (last !== undefined) return readingZone(undamagedValues(last));
  }
  return null;
}

/** A record of the running machine that says something about its time. */
const isShown = (reading: StoredReading) => isOfRunning(reading) && isSound(reading);

const isSound = (reading: StoredReading) => !isDamagedRecord(reading) && !isDatedAhead(reading);

/** The newest reading that is not of a damaged record, nor of a clock that ran ahead. */
function soundOf(
  { history }: Pick<SensorParts, "history">,
  latest: StoredReading | null,
): StoredReading | null {
  if (latest === null || !isDamagedRecord(latest)) return latest;
  const { sensor, kind } = latest;
  const range = { sensor, kind, fromMs: 0, toMs: latest.timeMs } as const;
  const page = { ...range, order: "descending", after: null, limit: RECORDS_WALKED } as const;
  return history.page(page).find(isSound) ?? null;
}

const hasClass = ({ machineClass, limits }: Sensor) =>
  machineClass !== undefined || limits !== undefined;

/** Kinds that no read lists (bands) are as fresh as their sensor. */
function isKindFresh(state: SensorState | undefined, kind: Kind): boolean {
  const own = state?.kinds.find((one) => one.kind === kind);
  if (own === undefined) return state?.state === "online";
  return own.lastReadingMs !== null && own.isSilent !== true;
}

/** Younger than three intervals of its kind. */
function isYoung(
  state: SensorState | undefined,
  { kind, timeMs }: Pick<StoredReading, "kind" | "timeMs">,
  nowMs: number,
): boolean {
  const listed = kind === "bands" ? "accel" : kind;
  const { cadenceS = null } = state?.kinds.find((one) => one.kind === listed) ?? {};
  const intervalMs = cadenceS === null ? UNKNOWN_CADENCE_MS : cadenceS * 1000;
  return nowMs - timeMs <= SILENT_AFTER_INTERVALS * intervalMs;
}

/** What each sensor tells of the condition of its machine. */
import type { SensorState } from "../../core/agent-status.ts";
import type { CheckedSensor } from "../../core/diagnosis/shown.ts";
import { isOfDamage } from "../../core/quality.ts";
import { readingZone } from "../../core/query/reading-zone.ts";
import { isFlagged, type Reading } from "../../core/reading.ts";
import { undamagedValues } from "../../core/record/damaged-record.ts";
import { isRead, type Kind, normalCode, readingKinds, type Sensor } from "../../core/sensor.ts";
import { nameAtStart } from "../../core/sensor-names.ts";
import { SILENT_AFTER_INTERVALS, UNKNOWN_CADENCE_MS } from "../../core/status/silence.ts";
import type { StoredReading } from "../../core/stored-reading.ts";
import { MINUTE_MS } from "../../core/time-units.ts";
import type { Zone } from "../../pipeline/signal/severity.ts";
import type { ConditionParts } from "./condition-parts.ts";
import type { KnownSensors } from "./condition-subjects.ts";
import type { ConditionSensor } from "./rules/condition.ts";
import { soundOf, zoneAt } from "./sound-records.ts";

type SensorParts = Pick<
  ConditionParts,
  "alarms" | "findings" | "history" | "machineSignals" | "site"
>;

type Judge = "check" | "rule" | null;

/** The newest reading of a kind that is sound. */
interface KindFacts extends Pick<StoredReading, "kind" | "timeMs"> {
  /** False: the newest one is of a damaged record. */
  readonly isNewest: boolean;
  readonly values: Reading["values"];
  readonly zone: Zone | null;
  readonly judge: Judge;
}

/** What readings, limits and checks say of a sensor. */
interface SensorFacts {
  readonly kinds: readonly KindFacts[];
  readonly zone: Zone | null;
  readonly standingMs: number | null;
  /** What was looked for, where nothing but that judges it; with another one they are made anew. */
  readonly check: string | null;
  /** Its active findings. */
  readonly stages: string | undefined;
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
  /** By sensor: the newest readings that are newer than its facts. */
  readonly #newer = new Map<string, Map<Kind, NewReading>>();

  constructor(parts: SensorParts) {
    this.#parts = parts;
  }

  /** A reading is durable. */
  stored(reading: NewReading): void {
    const code = normalCode(reading.sensor);
    const facts = this.#facts.get(code);
    if (facts === undefined) return;
    const { kind, timeMs } = reading;
    const newer = this.#newer.get(code) ?? new Map<Kind, NewReading>();
    const before = newer.get(kind) ?? facts.kinds.find((one) => one.kind === kind);
    const isNewest = before !== undefined && timeMs > before.timeMs;
    const doubts = Object.values(reading.quality);
    if (!isNewest || doubts.some(isOfDamage) || isFlagged(reading, "time_in_future"))
      return this.note(code);
    this.#newer.set(code, newer.set(kind, reading));
  }

  /** What is known of it counts no longer. */
  note(code: string): void {
    this.#facts.delete(normalCode(code));
    this.#newer.delete(normalCode(code));
  }

  /** The site file is another one. */
  clear(): void {
    this.#facts.clear();
    this.#newer.clear();
  }

  /** Whether it says what it said before, but for the times of its readings. @param code normalised */
  saysTheSame(code: string, nowMs: number): boolean {
    const facts = this.#facts.get(code);
    if (facts === undefined) return false;
    const next = this.#followed(code, facts, nowMs);
    if (next === null || next.stages !== facts.stages) {
      this.note(code);
      return false;
    }
    this.#newer.delete(code);
    this.#facts.set(code, next);
    return true;
  }

  /** Time of its newest judged reading, ms; null: none, or not known. @param code normalised */
  judgedMs(code: string): number | null {
    return newestJudged(this.#facts.get(code)?.kinds ?? []);
  }

  of(sensor: Sensor, moment: SensorMoment): ConditionSensor & { readonly judgedMs: number | null } {
    const { code, batteryLowV } = sensor;
    const { known } = moment;
    const { kinds, zone } = this.#factsOf(sensor, moment);
    const judged = kinds.filter(({ judge }) => judge !== null);
    const state = known.states.get(normalCode(code));
    return {
      code,
      judgedMs: newestJudged(kinds),
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

  /** The facts with the readings since then; null where they must be looked up. */
  #followed(code: string, facts: SensorFacts, nowMs: number): SensorFacts | null {
    const newer = this.#newer.get(code);
    const kinds: KindFacts[] = [];
    for (const known of facts.kinds) {
      const { kind, timeMs, judge } = known;
      const reading = newer?.get(kind);
      const values = reading?.values ?? known.values;
      const zone = reading === undefined ? known.zone : readingZone(values);
      const now = ruleOf(this.#parts, code, { kind, values, zone });
      // What a check says of it depends on more than the reading.
      if (now !== judge || (now === null && kind === "accel")) return null;
      const newestMs = reading?.timeMs ?? timeMs;
      if (kind === "accel" && !this.#isOfState(code, facts, newestMs)) return null;
      if (reading === undefined) {
        kinds.push(known);
        continue;
      }
      if (!known.isNewest || newestMs > nowMs) return null;
      if (kind === "accel" && facts.standingMs === null && zone !== facts.zone) return null;
      // Readings of one response before it are not known here.
      if (facts.standingMs !== null && timeMs <= facts.standingMs) return null;
      kinds.push({ ...known, timeMs: newestMs, values, zone });
    }
    return { ...facts, kinds, stages: this.#parts.findings?.stagesOf(code) };
  }

  /** Whether a record is of the state that the facts are of: one whose state is told later may be of the other one. */
  #isOfState(code: string, { standingMs }: SensorFacts, timeMs: number): boolean {
    const { machineSignals } = this.#parts;
    if (standingMs !== null || machineSignals.runningOf(code) === null) return true;
    return machineSignals.stateAt(code, timeMs) === "running";
  }

  #factsOf(sensor: Sensor, { known, standingMs, checked: all }: SensorMoment): SensorFacts {
    const key = normalCode(sensor.code);
    const { nowMs } = known;
    const checked = all.find((one) => normalCode(one.sensor) === key);
    const check = `${checked?.readingId} ${checked?.lookedFor.length}`;
    const kept = this.#newer.has(key) ? undefined : this.#facts.get(key);
    const isKept = kept?.standingMs === standingMs && (kept.check === null || kept.check === check);
    if (isKept && Math.abs(nowMs - kept.madeMs) < FACTS_MS) return kept;
    const latest = readingKinds(sensor).map((kind) =>
      this.#parts.history.latest(sensor.code, kind),
    );
    const kinds = latest.flatMap((newest) => {
      const reading = soundOf(this.#parts, newest);
      if (reading === null) return [];
      const { id, kind, timeMs } = reading;
      const values = undamagedValues(reading);
      const isChecked =
        kind === "accel" && checked?.readingId === id && checked.lookedFor.length > 0;
      const own = { kind, values, zone: readingZone(values) };
      const judge = ruleOf(this.#parts, key, own) ?? (isChecked ? "check" : null);
      return [{ ...own, timeMs, isNewest: reading === newest, judge }];
    });
    const accel = latest.find((reading) => reading?.kind === "accel");
    const zone = zoneAt(this.#parts, sensor, standingMs ?? nowMs, accel);
    const isRuled = kinds.every(({ kind, judge }) => kind !== "accel" || judge === "rule");
    const stages = this.#parts.findings?.stagesOf(key);
    const facts = {
      kinds,
      zone,
      standingMs,
      check: isRuled ? null : check,
      stages,
      madeMs: nowMs,
    };
    this.#newer.delete(key);
    // What is newer than now counts later, without a note.
    if (accel === undefined || accel === null || accel.timeMs <= nowMs) this.#facts.set(key, facts);
    return facts;
  }
}

/** A reading that was just stored. */
export type NewReading = Pick<
  Reading,
  "attributes" | "kind" | "quality" | "sensor" | "timeMs" | "values"
>;

function newestJudged(kinds: readonly KindFacts[]): number | null {
  const times = kinds.flatMap(({ judge, timeMs }) => (judge === null ? [] : [timeMs]));
  return times.length === 0 ? null : Math.max(...times);
}

/** Whether a zone, a rule or a learned baseline judges a value of a reading. @param values undamaged */
function ruleOf(
  { alarms }: SensorParts,
  code: string,
  { kind, values, zone }: Pick<KindFacts, "kind" | "values" | "zone">,
): Judge {
  if (zone !== null) return "rule";
  const isThere = (value: string) => (values[value] ?? null) !== null;
  const isLimited = () =>
    (alarms?.limits(code) ?? []).some(
      (limit) => limit.kind === kind && limit.alarm !== "battery_low" && isThere(limit.value),
    );
  const isLearned = () =>
    (alarms?.baselines(code) ?? []).some(
      ({ status, value }) => status !== "learning" && isThere(value),
    );
  return isLimited() || isLearned() ? "rule" : null;
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

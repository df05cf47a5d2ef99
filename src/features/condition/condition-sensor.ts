/** What one sensor tells of the condition of its machine. */
import type { SensorState } from "../../core/agent-status.ts";
import { isDamagedRecord, undamagedValues } from "../../core/damaged-record.ts";
import type { CheckedSensor } from "../../core/diagnosis/shown.ts";
import { readingZone } from "../../core/query/reading-zone.ts";
import { isRead, type Kind, normalCode, readingKinds, type Sensor } from "../../core/sensor.ts";
import { nameAtStart } from "../../core/sensor-names.ts";
import { SILENT_AFTER_INTERVALS, UNKNOWN_CADENCE_MS } from "../../core/silence.ts";
import { isDatedAhead, type StoredReading } from "../../core/stored-reading.ts";
import type { Zone } from "../../pipeline/signal/severity.ts";
import type { ConditionParts } from "./condition-parts.ts";
import type { KnownSensors } from "./condition-subjects.ts";
import { isOfRunning } from "./machine-change.ts";
import type { ConditionSensor } from "./rules/condition.ts";

type SensorParts = Pick<ConditionParts, "history" | "alarms" | "site">;

/** Records that are looked through for the last one of the running machine. */
const RECORDS_WALKED = 50;

/**
 * @param recordsEndMs what is newer was recorded while the machine stood still
 * @param checked what was looked for on the machine's sensors
 */
export function conditionSensor(
  parts: SensorParts,
  sensor: Sensor,
  known: KnownSensors,
  recordsEndMs: number,
  checked: readonly CheckedSensor[],
): ConditionSensor & { readonly judgedMs: number | null } {
  const { code, batteryLowV } = sensor;
  const state = known.states.get(normalCode(code));
  const isJudged = judgesOf(parts, sensor, checked);
  const latest = new Map(
    readingKinds(sensor).map((kind) => [kind, parts.history.latest(code, kind)]),
  );
  const judged = [...latest].flatMap(([kind, newest]) => {
    const reading = soundOf(parts, newest);
    return reading !== null && isJudged(kind, reading) ? [reading] : [];
  });
  return {
    code,
    judgedMs: judged.length === 0 ? null : Math.max(...judged.map(({ timeMs }) => timeMs)),
    name: nameAtStart(sensor, parts.site.current),
    isRead: isRead(sensor),
    lastReadingMs: state?.lastReadingMs ?? null,
    isFresh: state?.state === "online",
    isJudged: hasClass(sensor) || judged.length > 0,
    isJudgedNow: judged.some(
      (reading) =>
        isKindFresh(state, reading.kind) &&
        // Only those of damaged records are passed over.
        (reading.id === latest.get(reading.kind)?.id || isYoung(state, reading, known.nowMs)),
    ),
    zone: zoneAt(parts, sensor, recordsEndMs, latest.get("accel")),
    isBatteryLow:
      batteryLowV !== undefined &&
      typeof state?.batteryV === "number" &&
      state.batteryV < batteryLowV,
  };
}

/** Whether a zone, a rule, a learned baseline or a check for findings judged a value of a reading. */
function judgesOf({ alarms }: SensorParts, { code }: Sensor, all: readonly CheckedSensor[]) {
  const limits = (alarms?.limits(code) ?? []).filter(({ alarm }) => alarm !== "battery_low");
  const baselines = (alarms?.baselines(code) ?? []).filter(({ status }) => status !== "learning");
  const checked = all.find(({ sensor }) => normalCode(sensor) === normalCode(code));
  return (kind: Kind, reading: StoredReading): boolean => {
    const values = undamagedValues(reading);
    const isThere = (value: string) => (values[value] ?? null) !== null;
    return (
      readingZone(values) !== null ||
      limits.some((limit) => limit.kind === kind && isThere(limit.value)) ||
      baselines.some(({ value }) => isThere(value)) ||
      (kind === "accel" &&
        checked?.readingId === reading.id &&
        (checked?.lookedFor.length ?? 0) > 0)
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
  { kind, timeMs }: StoredReading,
  nowMs: number,
): boolean {
  const listed = kind === "bands" ? "accel" : kind;
  const { cadenceS = null } = state?.kinds.find((one) => one.kind === listed) ?? {};
  const intervalMs = cadenceS === null ? UNKNOWN_CADENCE_MS : cadenceS * 1000;
  return nowMs - timeMs <= SILENT_AFTER_INTERVALS * intervalMs;
}

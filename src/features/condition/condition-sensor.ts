/** What one sensor tells of the condition of its machine. */
import type { SensorState } from "../../core/agent-status.ts";
import type { CheckedSensor } from "../../core/diagnosis/shown.ts";
import { readingZone } from "../../core/query/reading-zone.ts";
import { isRead, type Kind, normalCode, readingKinds, type Sensor } from "../../core/sensor.ts";
import { type StoredReading, storedValues } from "../../core/stored-reading.ts";
import type { Zone } from "../../pipeline/signal/severity.ts";
import type { ConditionParts } from "./condition-parts.ts";
import type { KnownSensors } from "./condition-subjects.ts";
import { isOfRunning } from "./machine-change.ts";
import type { ConditionSensor } from "./rules/condition.ts";

type SensorParts = Pick<ConditionParts, "history" | "alarms">;

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
): ConditionSensor {
  const { code, name, location, batteryLowV } = sensor;
  const state = known.states.get(normalCode(code));
  const isJudged = judgesOf(parts, sensor, checked);
  const judgedKinds = readingKinds(sensor).filter((kind) => {
    const reading = parts.history.latest(code, kind);
    return reading !== null && isJudged(kind, reading);
  });
  return {
    code,
    name: name ?? location?.names?.point ?? null,
    isRead: isRead(sensor),
    lastReadingMs: state?.lastReadingMs ?? null,
    isFresh: state?.state === "online",
    isJudged: hasClass(sensor) || judgedKinds.length > 0,
    isJudgedNow: judgedKinds.some((kind) => isKindFresh(state, kind)),
    zone: zoneAt(parts, sensor, recordsEndMs),
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
    const values = storedValues(reading);
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

/** Zone of the last record of the running machine until a time, ms. */
export function zoneAt(
  { history }: Pick<SensorParts, "history">,
  { code, kinds }: Sensor,
  endMs: number,
): Zone | null {
  if (!kinds.includes("accel")) return null;
  const range = { sensor: code, kind: "accel", fromMs: 0, toMs: endMs + 1 } as const;
  // Nearly always the first one is of the running machine.
  for (const limit of [1, RECORDS_WALKED]) {
    const page = { ...range, order: "descending", after: null, limit } as const;
    const last = history.page(page).find(isOfRunning);
    if (last !== undefined) return readingZone(storedValues(last));
  }
  return null;
}

const hasClass = ({ machineClass, limits }: Sensor) =>
  machineClass !== undefined || limits !== undefined;

/** Kinds that no read lists (bands) are as fresh as their sensor. */
function isKindFresh(state: SensorState | undefined, kind: Kind): boolean {
  const own = state?.kinds.find((one) => one.kind === kind);
  if (own === undefined) return state?.state === "online";
  return own.lastReadingMs !== null && own.isSilent !== true;
}

/** What the stored readings say about the sensors themselves (services sections 6 and 9). */

import type { HistoryReader } from "../../core/query/ports.ts";
import { type Kind, readingKinds, type Sensor } from "../../core/sensor.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { memberNumber } from "../../core/value-number.ts";
import { accelChannels } from "../../pipeline/convert/channels.ts";
import type { QueryContext } from "./context.ts";
import { hasChannel, type OpenReading, openReading } from "./rules/responses.ts";
import { axisChannels } from "./rules/site-tree.ts";

type MeasuredParts = { readonly history: Pick<HistoryReader, "latest"> };
type FactParts = Pick<QueryContext["parts"], "clock"> & {
  readonly history: Pick<HistoryReader, "latest" | "page">;
};

/**
 * Channels of a vibration sensor: those the site file lists; if it lists none, those of the newest record, because a
 * biaxial sensor has no third; H, V, A before the first record.
 */
export function measuredChannels(
  { history }: MeasuredParts,
  sensor: Sensor,
): ReturnType<typeof axisChannels> {
  const channels = axisChannels(sensor);
  if (channels.length === 0 || accelChannels(sensor).length > 0) return channels;
  const newest = history.latest(sensor.code, "accel");
  if (newest === null) return channels;
  const open = openReading(newest);
  const measured = channels.filter(({ channel }) => hasChannel(open, channel));
  return measured.length > 0 ? measured : channels;
}

/** How far back a value is searched that the newest record lacks: fields go missing now and then, not for days. */
const LOOK_BACK_MS = 2 * DAY_MS;
const LOOK_BACK_ROWS = 50;

/** Where the records of a kind carry information about the device (services sections 3.3 to 3.5). */
const COMMON_FACTS = ["battery", "module_temperature", "version"] as const;
const FACTS: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  accel: ["temperature"],
  accCurrent: [],
  // The site file selects what a node reports; its newest reading is its whole state.
  node: [],
};

const ALL_FACTS = [...COMMON_FACTS, "temperature"];
/** Records that lack a value for days mostly never have it: they are searched once in this time, ms. */
const ABSENT_MS = 600_000;

const hasNumber = ({ values, attributes }: OpenReading, fact: string) =>
  (memberNumber(values, fact) ?? memberNumber(attributes, fact)) !== null;

/** The newest reading of each kind, and older ones if it lacks a value that its records carry. */
export function factReadings(
  { clock, history }: FactParts,
  sensor: Sensor,
  absent: QueryContext["absentFacts"] = new Map(),
): OpenReading[] {
  const readings: OpenReading[] = [];
  for (const kind of readingKinds(sensor)) {
    // Bands are derived from a record that is asked for itself, and know nothing of the device.
    if (kind === "bands") continue;
    const newest = history.latest(sensor.code, kind);
    if (newest === null) continue;
    const open = openReading(newest);
    readings.push(open);
    const facts = FACTS[kind] ?? COMMON_FACTS;
    const isWhole = facts.every(
      (fact) => (open.values[fact] ?? open.attributes[fact] ?? null) !== null,
    );
    if (isWhole) continue;
    const name = `${kind} ${sensor.code}`;
    const now = clock.monotonic();
    if (now < (absent.get(name) ?? now)) continue;
    const page = history.page({
      sensor: sensor.code,
      kind,
      fromMs: newest.timeMs - LOOK_BACK_MS,
      toMs: newest.timeMs,
      order: "descending",
      after: null,
      limit: LOOK_BACK_ROWS,
    });
    const lacking = ALL_FACTS.filter((fact) => !hasNumber(open, fact));
    const older = page
      .map(openReading)
      .filter((one) => lacking.some((fact) => hasNumber(one, fact)));
    if (older.length === 0) absent.set(name, now + ABSENT_MS);
    readings.push(...older);
  }
  return readings;
}

/** How sensors of the plant are wired wrongly (`--wiring`): what they send is altered, what the machines do is not. */
import type { PlainRecord } from "./plain-record.ts";

export const WIRING_FAULTS = [
  "reversed",
  "doubled",
  "lost-samples",
  "flat-tops",
  "dead-gate",
] as const;
export type WiringFault = (typeof WIRING_FAULTS)[number];

/** Samples that are lost in a record, as zeros; where they begin, as a share of it. */
const LOST_SAMPLES = 199;
const LOST_FROM = 0.4;
/** Of full scale, where the analogue part cuts. */
const FLAT_TOP_SHARE = 3 / 8;
const COUNTS_MAX = 32_767;
/** On the ADC of a sensor whose supply has sagged. */
const OFFSET_SHARE = 1 / 8;

/** A record of few values. */
export function wiredRecord(record: PlainRecord, faults: readonly WiringFault[]): PlainRecord {
  let wired = record;
  if (faults.includes("reversed"))
    wired = changed(wired, /^current\d$/, (value) => (value === 0 ? 0 : -value));
  if (faults.includes("doubled")) wired = changed(wired, /^RPM$/, (value) => 2 * value);
  if (faults.includes("dead-gate"))
    wired = changed(wired, /^(RPM|current\d|(min|max|avg)_current\d)$/, () => 0);
  return wired;
}

function changed(record: PlainRecord, names: RegExp, to: (value: number) => number): PlainRecord {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name,
      names.test(name) && typeof value === "number" ? to(value) : value,
    ]),
  );
}

/** One axis of a record of samples. */
export function wiredSamples(counts: Int16Array, faults: readonly WiringFault[]): Int16Array {
  const isLost = faults.includes("lost-samples");
  const isCut = faults.includes("flat-tops");
  if (!isLost && !isCut) return counts;
  const most = isCut ? Math.round(FLAT_TOP_SHARE * COUNTS_MAX) : COUNTS_MAX;
  const offset = isLost ? Math.round(OFFSET_SHARE * COUNTS_MAX) : 0;
  const wired = counts.map((count) => Math.max(-most, Math.min(most, count + offset)));
  const from = Math.floor(LOST_FROM * wired.length);
  return isLost ? wired.fill(0, from, from + LOST_SAMPLES) : wired;
}

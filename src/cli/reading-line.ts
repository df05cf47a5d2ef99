import type { Doubt } from "../core/quality.ts";
import type { Value } from "../core/reading.ts";

interface ReadingPayload {
  readonly sensor: string;
  readonly kind: string;
  readonly time: string;
  readonly values: Readonly<Record<string, Value>>;
  readonly units: Readonly<Record<string, string>>;
  readonly quality: Readonly<Record<string, Doubt>>;
}

/** Values shown of an acceleration reading, which has two dozen. */
const ACCEL_SHOWN = /_vel_rms$|_env_rms$|_zone$/;
const SHOWN_MAX = 8;

/** A JSON reading (contract 6) as one line for people; null for a payload that is none. */
export function readingLine(payload: string, names: ReadonlyMap<string, string>): string | null {
  let reading: ReadingPayload;
  try {
    reading = JSON.parse(payload);
  } catch {
    return null;
  }
  if (reading === null || typeof reading !== "object" || !("values" in reading)) return null;
  const { sensor, kind, time, values, units, quality } = reading;
  const shown = Object.entries(values).filter(
    ([name]) => kind !== "accel" || ACCEL_SHOWN.test(name) || name === "temperature",
  );
  const parts = shown
    .slice(0, SHOWN_MAX)
    .map(([name, value]) => `${shortName(name)} ${valueText(value, units[name], quality[name])}`);
  if (shown.length > SHOWN_MAX) parts.push(`+${shown.length - SHOWN_MAX}`);
  const title = `${sensor} ${names.get(sensor) ?? ""}`.trim().padEnd(30).slice(0, 30);
  return `${time.slice(11, 19)}  ${title}  ${kind.padEnd(10)} ${parts.join("  ")}`;
}

function shortName(name: string): string {
  return name
    .replace(/^channel(\d)/, "ch$1")
    .replace(/^current(\d)/, "I$1")
    .replace("accumulated_I", "Ah");
}

function valueText(value: Value, unit: string | undefined, doubt: Doubt | undefined): string {
  const mark = doubt === undefined ? "" : ` (${doubt.quality}: ${doubt.reason})`;
  if (value === null) return `-${mark}`;
  if (typeof value !== "number") return `${value}${mark}`;
  const text = String(Number(value.toPrecision(4)));
  return `${text}${unit === undefined || unit === "1" ? "" : ` ${unit}`}${mark}`;
}

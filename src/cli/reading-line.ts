import { parsedJson } from "../core/parsed-json.ts";
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

/** Values shown first for readings with a dozen or more. */
const FIRST: Readonly<Record<string, RegExp>> = {
  accel: /_vel_rms$|_env_rms$|_zone$|^temperature$/,
  currentV2: /_avg$/,
};
/** Used if the output is not a terminal, and so has no width. */
const SHOWN_MAX = 8;
/** Shown even on a narrow terminal, whose line then wraps. */
const SHOWN_MIN = 2;

/**
 * A JSON reading (contract section 6) as one line for people, with as many values as fit into `columns`; null for a
 * payload that is not a reading.
 */
export function readingLine(
  payload: string,
  names: ReadonlyMap<string, string>,
  columns: number | null = null,
): string | null {
  const reading = parsedJson<ReadingPayload>(payload);
  if (reading === null || typeof reading !== "object" || !("values" in reading)) return null;
  const { sensor, kind, time, values, units, quality } = reading;
  const isFirst = (name: string) => FIRST[kind]?.test(name) === true;
  const shown = Object.entries(values)
    .sort(([a], [b]) => Number(isFirst(b)) - Number(isFirst(a)))
    .map(([name, value]) => `${name} ${valueText(value, units[name], quality[name])}`);
  const title = `${sensor} ${names.get(sensor) ?? ""}`.trim().padEnd(30).slice(0, 30);
  const head = `${time.slice(11, 19)}  ${title}  ${kind.padEnd(10)}`;
  const count = columns === null ? SHOWN_MAX : fitting(shown, columns - head.length);
  const rest = shown.length - count;
  return `${[head, ...shown.slice(0, count)].join("  ")}${rest > 0 ? moreText(rest) : ""}`;
}

const moreText = (count: number) => `  +${count} more`;

/** How many of the texts fit, each after two spaces, with the note about the rest. */
function fitting(texts: readonly string[], room: number): number {
  let used = 0;
  for (const [i, text] of texts.entries()) {
    used += 2 + text.length;
    const rest = texts.length - i - 1;
    if (used + (rest > 0 ? moreText(rest).length : 0) > room) return Math.max(SHOWN_MIN, i);
  }
  return texts.length;
}

function valueText(value: Value, unit: string | undefined, doubt: Doubt | undefined): string {
  const mark = doubt === undefined ? "" : ` (${doubt.quality}: ${doubt.reason})`;
  if (value === null) return `-${mark}`;
  if (typeof value !== "number") return `${value}${mark}`;
  const text = String(Number(value.toPrecision(4)));
  return `${text}${unit === undefined || unit === "1" ? "" : ` ${unit}`}${mark}`;
}

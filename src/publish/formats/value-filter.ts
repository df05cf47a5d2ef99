import type { StoredReading } from "../../core/stored-reading.ts";

/** True for the names of values that an uplink selects. */
export type ValueFilter = (value: string) => boolean;

/** The reading with only the selected values; null if it has none of them. Throws SyntaxError for a damaged text. */
export function selectValues(reading: StoredReading, isWanted: ValueFilter): StoredReading | null {
  const values = pick(reading.values, isWanted);
  if (values === null) return null;
  return {
    ...reading,
    values,
    units: pick(reading.units, isWanted) ?? "{}",
    quality: pick(reading.quality, isWanted) ?? "{}",
  };
}

function pick(text: string, isWanted: ValueFilter): string | null {
  const all: Record<string, unknown> = JSON.parse(text);
  const wanted = Object.entries(all).filter(([name]) => isWanted(name));
  return wanted.length === 0 ? null : JSON.stringify(Object.fromEntries(wanted));
}

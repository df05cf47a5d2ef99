import type { Doubt } from "../../core/quality.ts";
import type { Kind } from "../../core/sensor.ts";
import type { StoredReading } from "../../core/stored-reading.ts";

/** A stored reading with its JSON members read. */
export interface ParsedReading {
  readonly kind: Kind;
  readonly timeMs: number;
  readonly values: Readonly<Record<string, unknown>>;
  readonly units: Readonly<Record<string, unknown>>;
  readonly quality: Readonly<Record<string, Doubt>>;
  /** False if a stored text was damaged: its content is not sent. */
  readonly isWhole: boolean;
}

export function parseReading(reading: StoredReading): ParsedReading {
  const values = membersOf(reading.values);
  const units = membersOf(reading.units);
  const quality = membersOf<Doubt>(reading.quality);
  return {
    kind: reading.kind,
    timeMs: reading.timeMs,
    values: values ?? {},
    units: units ?? {},
    quality: quality ?? {},
    isWhole: values !== null && units !== null && quality !== null,
  };
}

/** Null for a text damaged by a failing disk: its reading must not block the others forever. */
export function membersOf<T = unknown>(text: string): Readonly<Record<string, T>> | null {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return null;
  }
}

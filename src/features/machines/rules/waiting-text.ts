/** A reading as text, while it waits: exactly what it was, tones included. */
import type { FollowedReading } from "../../../core/followed-reading.ts";
import { isJsonObject } from "../../../core/record.ts";

interface Packed {
  readonly f32: string;
}

export function waitingText(reading: FollowedReading): string {
  return JSON.stringify(reading, (_key, value: unknown) =>
    value instanceof Float32Array
      ? {
          f32: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64"),
        }
      : value,
  );
}

/** Null if the text is damaged. */
export function readingOfText(text: string): FollowedReading | null {
  try {
    const reading: FollowedReading = JSON.parse(text, (_key, value: unknown) =>
      isPacked(value) ? floatsOf(value.f32) : value,
    );
    const isWhole =
      isJsonObject(reading) &&
      isJsonObject(reading.values) &&
      isJsonObject(reading.quality) &&
      Number.isFinite(reading.timeMs);
    return isWhole ? reading : null;
  } catch {
    return null;
  }
}

function isPacked(value: unknown): value is Packed {
  return (
    typeof value === "object" && value !== null && typeof Reflect.get(value, "f32") === "string"
  );
}

function floatsOf(base64: string): Float32Array {
  return new Float32Array(Uint8Array.from(Buffer.from(base64, "base64")).buffer);
}

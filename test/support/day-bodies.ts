import type { RawRecord } from "../../src/core/record.ts";
import type { PolledKind } from "../../src/core/sensor.ts";
import { loadByteHashing } from "../../src/lib/xxhash.ts";
import { DayReader, type DayReaderOptions } from "../../src/pipeline/decode/day-reader.ts";
import { createWireNames } from "../../src/pipeline/wire/wire-names.ts";

const hashing = loadByteHashing();
const names = createWireNames({ word: "sensor", service: "SensorService.svc" });

/** Reads a body in pieces that end at `cuts`. */
export async function readDay(
  kind: PolledKind,
  body: string | Uint8Array,
  options: Partial<DayReaderOptions> & { cuts?: readonly number[] } = {},
) {
  const { cuts = [], ...rest } = options;
  const reader = new DayReader({ kind, names, hashing: await hashing, checkpoint: null, ...rest });
  const bytes = Buffer.from(body);
  const ends = [...cuts, bytes.length].map((cut) => Math.min(cut, bytes.length));
  const items = ends
    .sort((a, b) => a - b)
    .flatMap((end, index) => {
      // A copy that is wiped afterwards: records must not hold on to the reader's bytes.
      const piece = Buffer.from(bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
      const given = reader.push(piece);
      piece.fill(0x21);
      return given;
    });
  const records = items.flatMap((item) => ("record" in item ? [item.record] : []));
  const rejects = items.flatMap((item) => ("reject" in item ? [item.reject.reason] : []));
  return { items, records, rejects, result: reader.end() };
}

export const envelope = (records: string) =>
  `[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[${records}]}]`;

/** A record with its typed array made comparable. */
export const plain = (record: RawRecord): unknown =>
  JSON.parse(
    JSON.stringify(record, (_key, value: unknown) =>
      value instanceof Int16Array
        ? [...value]
        : typeof value === "number" && Number.isNaN(value)
          ? "NaN"
          : value,
    ),
  );

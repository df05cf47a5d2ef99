/** Numeric arrays of a MATLAB 5 file, also those inside structures; what the public bearing records are kept in. */
import { inflateSync } from "node:zlib";

const HEADER_BYTES = 128;
const TYPE = { matrix: 14, compressed: 15 } as const;
const STRUCT_CLASS = 2;
const FIRST_NUMERIC_CLASS = 6;

/** Readers and sizes of the element types, by their number. */
const NUMBERS: Readonly<Record<number, readonly [number, (from: Buffer, at: number) => number]>> = {
  1: [1, (from, at) => from.readInt8(at)],
  2: [1, (from, at) => from.readUInt8(at)],
  3: [2, (from, at) => from.readInt16LE(at)],
  4: [2, (from, at) => from.readUInt16LE(at)],
  5: [4, (from, at) => from.readInt32LE(at)],
  6: [4, (from, at) => from.readUInt32LE(at)],
  7: [4, (from, at) => from.readFloatLE(at)],
  9: [8, (from, at) => from.readDoubleLE(at)],
};

interface Element {
  readonly type: number;
  readonly data: Buffer;
}

function* elements(bytes: Buffer): Generator<Element> {
  let at = 0;
  while (at + 8 <= bytes.length) {
    const word = bytes.readUInt32LE(at);
    const isSmall = word >>> 16 !== 0;
    const type = word & 0xffff;
    const size = isSmall ? word >>> 16 : bytes.readUInt32LE(at + 4);
    const from = isSmall ? at + 4 : at + 8;
    yield { type, data: bytes.subarray(from, from + size) };
    const padded = type === TYPE.compressed ? size : Math.ceil(size / 8) * 8;
    at = isSmall ? at + 8 : from + padded;
  }
}

function numbersOf({ type, data }: Element): Float64Array {
  const [size, read] = NUMBERS[type] ?? [1, () => Number.NaN];
  return Float64Array.from({ length: data.length / size }, (_, i) => read(data, size * i));
}

/** Adds the arrays of one matrix under its name, and those of a structure under `name.field`. */
function addMatrix(bytes: Buffer, prefix: string, into: Map<string, Float64Array>): void {
  const [flags, , name, ...rest] = [...elements(bytes)];
  if (flags === undefined || name === undefined) return;
  const kind = flags.data[0] ?? 0;
  const path = `${prefix}${name.data.toString("latin1")}`;
  if (kind >= FIRST_NUMERIC_CLASS && rest[0] !== undefined) into.set(path, numbersOf(rest[0]));
  if (kind !== STRUCT_CLASS) return;
  const [nameSize, names, ...fields] = rest;
  if (nameSize === undefined || names === undefined) return;
  const width = nameSize.data.readInt32LE(0);
  for (const [i, { data }] of fields.entries()) {
    const field = names.data.toString("latin1", width * i, width * (i + 1)).split("\0")[0];
    addMatrix(data, `${path}.${field}`, into);
  }
}

/** Arrays by name, each as one column. */
export function matArrays(file: Buffer): ReadonlyMap<string, Float64Array> {
  const arrays = new Map<string, Float64Array>();
  for (const { type, data } of elements(file.subarray(HEADER_BYTES))) {
    const [matrix] = type === TYPE.compressed ? elements(inflateSync(data)) : [{ type, data }];
    if (matrix?.type === TYPE.matrix) addMatrix(matrix.data, "", arrays);
  }
  return arrays;
}

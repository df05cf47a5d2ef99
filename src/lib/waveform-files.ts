/** A series of samples in the formats of other programs: WAV, NumPy and CSV. */

const WAV_HEADER_BYTES = 58;
const FLOAT_BYTES = 4;
const DOUBLE_BYTES = 8;
/** Microsoft's number for IEEE floats; such a file has a fact chunk and an empty format extension. */
const WAVE_FORMAT_IEEE_FLOAT = 3;

/**
 * One channel of 32-bit floats, so that no amplitude is clipped or scaled. The rate is an integer, because the header
 * holds one.
 */
export function wavBytes(samples: Float64Array, sampleRateHz: number): Buffer {
  const rate = Math.round(sampleRateHz);
  const dataBytes = samples.length * FLOAT_BYTES;
  const bytes = Buffer.alloc(WAV_HEADER_BYTES + dataBytes);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(WAV_HEADER_BYTES - 8 + dataBytes, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(18, 16);
  bytes.writeUInt16LE(WAVE_FORMAT_IEEE_FLOAT, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(rate, 24);
  bytes.writeUInt32LE(rate * FLOAT_BYTES, 28);
  bytes.writeUInt16LE(FLOAT_BYTES, 32);
  bytes.writeUInt16LE(FLOAT_BYTES * 8, 34);
  bytes.writeUInt16LE(0, 36);
  bytes.write("fact", 38, "latin1");
  bytes.writeUInt32LE(4, 42);
  bytes.writeUInt32LE(samples.length, 46);
  bytes.write("data", 50, "latin1");
  bytes.writeUInt32LE(dataBytes, 54);
  samples.forEach((value, n) => bytes.writeFloatLE(value, WAV_HEADER_BYTES + n * FLOAT_BYTES));
  return bytes;
}

/** NumPy's format 1.0: little-endian doubles in one dimension. */
export function npyBytes(samples: Float64Array): Buffer {
  const words = `{'descr': '<f8', 'fortran_order': False, 'shape': (${samples.length},), }`;
  // Magic (8), length (2) and header together are a multiple of 64, with a line feed at the end.
  const header = words.padEnd(Math.ceil((words.length + 11) / 64) * 64 - 11);
  const head = Buffer.from(`\x93NUMPY\x01\x00\x00\x00${header}\n`, "latin1");
  head.writeUInt16LE(header.length + 1, 8);
  const data = Buffer.alloc(samples.length * DOUBLE_BYTES);
  samples.forEach((value, n) => data.writeDoubleLE(value, n * DOUBLE_BYTES));
  return Buffer.concat([head, data]);
}

/** Time in s and the value, one line per sample. */
export function csvBytes(samples: Float64Array, sampleRateHz: number, unit: string): Buffer {
  const lines = Array.from(samples, (value, n) => `${n / sampleRateHz},${value}`);
  return Buffer.from(`time_s,acceleration_${unit}\n${lines.join("\n")}\n`);
}

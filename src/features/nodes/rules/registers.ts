/** Modbus registers as values of a sensor's state: which are requested together, and how their words are decoded. */

import { REGISTER_WORDS, type StateRegister } from "../../../core/sensor.ts";
import { decimal } from "../../../pipeline/convert/decimal.ts";

/** Most registers in one request (Modbus application protocol 6.3). */
const READ_REGISTERS_MAX = 125;
/** Decimal digits that distinguish every float32, and those that every decimal of that length survives. */
const FLOAT32_DIGITS_MAX = 9;
const FLOAT32_DIGITS_MIN = 6;

/** Word order of 32-bit values in two registers: big = high word first. */
export type WordOrder = "big" | "little";

/** Adjacent registers, read in one request. */
export interface RegisterBlock {
  readonly address: number;
  readonly count: number;
}

/**
 * The requests that read all of them. Only adjacent registers are requested together: a device returns an exception if
 * one of the addresses is unknown.
 */
export function registerBlocks(registers: readonly StateRegister[]): RegisterBlock[] {
  const blocks: { address: number; count: number }[] = [];
  for (const { address, type } of [...registers].sort((a, b) => a.address - b.address)) {
    const end = address + REGISTER_WORDS[type];
    const last = blocks.at(-1);
    const joins =
      last !== undefined &&
      address <= last.address + last.count &&
      end - last.address <= READ_REGISTERS_MAX;
    if (joins) last.count = Math.max(last.count, end - last.address);
    else blocks.push({ address, count: REGISTER_WORDS[type] });
  }
  return blocks;
}

/** The words of a register as a scaled value in its unit; NaN if a float32 is NaN or infinite. */
export function registerValue(
  words: readonly number[],
  { type, scale = 1, offset = 0 }: Pick<StateRegister, "type" | "scale" | "offset">,
  order: WordOrder,
): number {
  const plain = plainValue(words, type, order);
  if (!Number.isFinite(plain)) return Number.NaN;
  const value = scale === 1 && offset === 0 ? plain : decimal(plain * scale + offset);
  return Number.isFinite(value) ? value : Number.NaN;
}

function plainValue(
  [first = 0, second = 0]: readonly number[],
  type: StateRegister["type"],
  order: WordOrder,
): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint16(0, order === "big" ? first : second);
  view.setUint16(2, order === "big" ? second : first);
  switch (type) {
    case "uint16":
      return first;
    case "int16":
      return first >= 0x8000 ? first - 0x10000 : first;
    case "uint32":
      return view.getUint32(0);
    case "int32":
      return view.getInt32(0);
    case "float32":
      return shortest(view.getFloat32(0));
    default:
      return type satisfies never;
  }
}

/** The shortest decimal that equals the same float32: 3.61 and not 3.609999895095825. */
function shortest(value: number): number {
  if (!Number.isFinite(value)) return value;
  for (let digits = FLOAT32_DIGITS_MIN; digits < FLOAT32_DIGITS_MAX; digits += 1) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return rounded;
  }
  return value;
}

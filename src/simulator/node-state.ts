/** Status of a simulated node: its battery, firmware, signal and own RMS, in operations and in registers. */
import { HOUR_MS } from "../core/time-units.ts";
import type { PlainRecord } from "./plain-record.ts";

const STATE_QUANTITIES = [
  "battery",
  "firmware",
  "signal",
  "rms1",
  "rms2",
  "rms3",
  "sleeping",
] as const;
type StateQuantity = (typeof STATE_QUANTITIES)[number];

/** An additional read operation: its name, and its record's fields by their names at the gateway. */
export interface StateOperation {
  readonly name: string;
  readonly fields: Readonly<Record<string, StateQuantity>>;
}

const DEFAULT_FIELDS: StateOperation["fields"] = {
  Battery: "battery",
  FW: "firmware",
  Signal: "signal",
  RMS1: "rms1",
  RMS2: "rms2",
  RMS3: "rms3",
  Sleeping: "sleeping",
};
/** Registers of one sensor; those of the sensor at index n of the list begin at n times this. */
const REGISTERS_PER_SENSOR = 10;

/** `getVibrationState` or `getVibrationState:Battery=battery,FW=firmware`; an error message if it is neither. */
export function parseStateOperation(text: string): StateOperation | string {
  const [name = "", written] = text.split(":", 2);
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) return `${name} is not the name of an operation`;
  if (written === undefined) return { name, fields: DEFAULT_FIELDS };
  const fields: [string, StateQuantity][] = [];
  for (const pair of written.split(",")) {
    const [field = "", what] = pair.split("=", 2);
    const quantity = STATE_QUANTITIES.find((one) => one === what);
    if (field === "" || quantity === undefined)
      return `${pair} is not FIELD=WHAT, with WHAT one of ${STATE_QUANTITIES.join(", ")}`;
    fields.push([field, quantity]);
  }
  return { name, fields: Object.fromEntries(fields) };
}

/** The state of the sensor at an index of the plant's list; it changes hourly, the firmware never. */
function quantity(what: StateQuantity, place: number, nowMs: number): number | string | boolean {
  const hour = Math.floor(nowMs / HOUR_MS);
  switch (what) {
    case "battery":
      return Math.round(3_600 - (place % 20) * 10 - ((hour / 24) % 100)) / 1000;
    case "firmware":
      return 10 + (place % 5);
    case "signal":
      return -60 - ((place * 7 + hour) % 30);
    case "rms1":
    case "rms2":
    case "rms3":
      return (100 + ((place * 13 + Number(what.slice(-1)) * 31 + hour) % 300)) / 100;
    case "sleeping":
      return false;
    default:
      return what satisfies never;
  }
}

/** The newest state that the gateway has, with the time of the hour. */
export function stateRecord(
  { fields }: StateOperation,
  code: string,
  place: number,
  nowMs: number,
): PlainRecord {
  const values = Object.entries(fields).map(([field, what]) => [
    field,
    quantity(what, place, nowMs),
  ]);
  return {
    ...Object.fromEntries(values),
    sensor_code: code,
    time_data: { ms: Math.floor(nowMs / HOUR_MS) * HOUR_MS, offsetMinutes: 0 },
  };
}

/**
 * The registers of all sensors, ten for each: +0 battery mV, +1 firmware, +2 signal dBm (int16), +3 to +5 own RMS of the
 * channels in 0.01 mm/s, +6 and +7 battery V as float32, high word first, +8 and +9 firmware as uint32. Null beyond them.
 */
export function readStateRegisters(
  sensors: number,
  nowMs: number,
  address: number,
  count: number,
): number[] | null {
  if (address + count > sensors * REGISTERS_PER_SENSOR) return null;
  return Array.from({ length: count }, (_, i) => {
    const place = Math.floor((address + i) / REGISTERS_PER_SENSOR);
    const of = (what: StateQuantity) => Number(quantity(what, place, nowMs));
    const view = new DataView(new ArrayBuffer(2 * REGISTERS_PER_SENSOR));
    view.setUint16(0, Math.round(of("battery") * 1000));
    view.setUint16(2, of("firmware"));
    view.setInt16(4, of("signal"));
    view.setUint16(6, Math.round(of("rms1") * 100));
    view.setUint16(8, Math.round(of("rms2") * 100));
    view.setUint16(10, Math.round(of("rms3") * 100));
    view.setFloat32(12, of("battery"));
    view.setUint32(16, of("firmware"));
    return view.getUint16(2 * ((address + i) % REGISTERS_PER_SENSOR));
  });
}

/**
 * Units as people read them (plant sections 20 and 26): measured vibration, temperature and frequency in metric or US units, G and
 * GE written g and gE. What a site configures itself (loop units), and rpm, A, V and Ah stay as they are.
 */
import { CPM_PER_HZ, MM_PER_INCH, MM_S2_PER_G, UM_PER_MIL } from "./unit.ts";

export interface ReadUnits {
  readonly velocity: "mm/s" | "in/s";
  readonly displacement: "um" | "mils";
  readonly acceleration: "G" | "m/s2";
  readonly temperature: "degC" | "degF";
  readonly frequency: "Hz" | "cpm" | "orders";
}

export const METRIC: ReadUnits = {
  velocity: "mm/s",
  displacement: "um",
  acceleration: "G",
  temperature: "degC",
  frequency: "Hz",
};
export const US: ReadUnits = {
  velocity: "in/s",
  displacement: "mils",
  acceleration: "G",
  temperature: "degF",
  frequency: "cpm",
};

export const PRESETS = { metric: METRIC, us: US } as const;

/** The choices of each quantity, the metric one first. */
export const READ_UNITS: { readonly [Q in keyof ReadUnits]: readonly ReadUnits[Q][] } = {
  velocity: ["mm/s", "in/s"],
  displacement: ["um", "mils"],
  acceleration: ["G", "m/s2"],
  temperature: ["degC", "degF"],
  frequency: ["Hz", "cpm", "orders"],
};

/** As chosen for each quantity; metric where the choice is none of its units. */
export function chosenUnits(choice: (quantity: keyof ReadUnits) => unknown): ReadUnits {
  const unitOf = <Q extends keyof ReadUnits>(quantity: Q): ReadUnits[Q] =>
    READ_UNITS[quantity].find((unit) => unit === choice(quantity)) ?? METRIC[quantity];
  return {
    velocity: unitOf("velocity"),
    displacement: unitOf("displacement"),
    acceleration: unitOf("acceleration"),
    temperature: unitOf("temperature"),
    frequency: unitOf("frequency"),
  };
}

/** From the unit that is stored to the one that is read: value × scale + offset. */
export interface Conversion {
  /** With the detection, where people of the field expect another one: a velocity in in/s is elsewhere a peak. */
  readonly unit: string;
  readonly scale: number;
  readonly offset: number;
}

const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  G: { unit: "g", scale: 1, offset: 0 },
  "in/s": { unit: "in/s RMS", scale: 1 / MM_PER_INCH, offset: 0 },
  mils: { unit: "mils p-p", scale: 1 / UM_PER_MIL, offset: 0 },
  "m/s2": { unit: "m/s2", scale: MM_S2_PER_G / 1000, offset: 0 },
  degF: { unit: "degF", scale: 1.8, offset: 32 },
};
const QUANTITIES: Readonly<
  Record<string, "velocity" | "displacement" | "acceleration" | "temperature">
> = { "mm/s": "velocity", um: "displacement", G: "acceleration", degC: "temperature" };
const ENVELOPE: Conversion = { unit: "gE", scale: 1, offset: 0 };

/** Frequencies as they are read. */
export interface FrequencyScale {
  readonly unit: ReadUnits["frequency"];
  readonly axis: string;
  readonly perHz: number;
  /** More digits than the spacing of lines: peaks are interpolated between them. */
  readonly digits: (hz: number) => string;
  readonly words: (hz: number) => string;
}

/** @param speedHz without it, orders are Hz */
export function frequencyScale(
  wanted: ReadUnits["frequency"],
  speedHz: number | null,
): FrequencyScale {
  const scale = (unit: ReadUnits["frequency"], axis: string, perHz: number, decimals: number) => {
    const digits = (hz: number) => (hz * perHz).toFixed(decimals);
    const words = (hz: number) => `${digits(hz)}${unit === "orders" ? "x" : ` ${unit}`}`;
    return { unit, axis, perHz, digits, words };
  };
  if (wanted === "cpm") return scale(wanted, "Frequency (cpm)", CPM_PER_HZ, 0);
  return wanted === "orders" && speedHz !== null
    ? scale(wanted, "Orders (multiples of the speed)", 1 / speedHz, 3)
    : scale("Hz", "Frequency (Hz)", 1, 2);
}

/** Of the transmitter; a loop's temperature is a channel. */
const isTemperature = (value: string) => value === "temperature" || value === "module_temperature";

/** Null for a value that is read as it is stored. @param unit as stored */
export function conversionOf(
  { kind, value }: { readonly kind: string; readonly value: string },
  unit: string | null | undefined,
  wanted: ReadUnits,
): Conversion | null {
  const isOwn = kind === "accel" || kind === "bands" || isTemperature(value);
  if (!isOwn || unit === null || unit === undefined) return null;
  if (unit === "GE") return ENVELOPE;
  const quantity = Object.hasOwn(QUANTITIES, unit) ? QUANTITIES[unit] : undefined;
  if (quantity === undefined) return null;
  return CONVERSIONS[wanted[quantity]] ?? null;
}

/** The same for a number without a reading around it, such as a limit in a text; temperatures may be differences. */
export function scaleOf(unit: string, wanted: ReadUnits): Conversion | null {
  const found = conversionOf(SIGNAL, unit, wanted);
  return found === null || found.offset !== 0 ? null : found;
}

/** The unit of a waveform or spectrum, which comes in the one that was asked for. */
export function signalUnitAsRead(unit: string): string {
  return conversionOf(SIGNAL, unit, METRIC)?.unit ?? unit;
}

const SIGNAL = { kind: "accel", value: "" };

/** Files keep G and GE. @param unit as it is read */
export const unitInFiles = (unit: string) =>
  unit === "g" ? "G" : unit === ENVELOPE.unit ? "GE" : unit;

export function converted(value: number, conversion: Conversion | null): number {
  return conversion === null ? value : value * conversion.scale + conversion.offset;
}

/** How sentences of alarms and findings begin: up to the end of a name, which is no measured number ("Mill 3 G"). */
const UP_TO_NAME =
  /^(?:(?:Alarm|Warning|Cleared): [^.;]*? at .*? (?=is |has had |was read )|.+? on .+?, (?=stage \d of 3: )|Unexplained line on .+?: )/;

/** What stands behind the name of sensor or machine is changed, and that stays. */
function behindNames(text: string, change: (rest: string) => string): string {
  const names = UP_TO_NAME.exec(text)?.[0] ?? "";
  return names + change(text.slice(names.length));
}

/** Numbers with such units in a sentence of the agent. */
export function textAsRead(text: string, wanted: ReadUnits): string {
  return behindNames(text, (rest) => numbersAsRead(rest, wanted));
}

function numbersAsRead(text: string, wanted: ReadUnits): string {
  return text.replace(
    // The unit that is read says the detection itself.
    /(-?\d+(?:\.\d+)?) (mm\/s(?: RMS)?|um|GE?|Hz)(?![\w/])/g,
    (whole: string, number: string, unit: string) => {
      // Orders need a speed, which no sentence has.
      if (unit === "Hz" && wanted.frequency === "cpm")
        return `${(Number(number) * CPM_PER_HZ).toFixed(0)} cpm`;
      const conversion = scaleOf(unit.replace(/ RMS$/, ""), wanted);
      if (conversion === null) return whole;
      if (conversion.scale === 1) return `${number} ${conversion.unit}`;
      return `${Number((Number(number) * conversion.scale).toPrecision(3))} ${conversion.unit}`;
    },
  );
}

/** Vibration by its value's name: those of loops, whose units are the site's own, have no suffix but `_ma`. */
export const isVibrationValue = (value: string) => /^channel\d_(?!ma$)/.test(value);

/** The text of an alarm; one of a loop that is configured in mm/s stays. @param of null where no alarm is behind it */
export function alarmTextAsRead(
  text: string,
  of: { readonly alarm: string; readonly value: string } | null | undefined,
  wanted: ReadUnits,
): string {
  if (of && isTemperature(of.value)) return temperaturesAsRead(text, of.value, wanted);
  const isOwn = !of || of.alarm === "finding" || isVibrationValue(of.value);
  return isOwn ? textAsRead(text, wanted) : text;
}

/** An alarm that is about to end says a difference: "not yet 2 degC below". */
function temperaturesAsRead(text: string, value: string, wanted: ReadUnits): string {
  const conversion = conversionOf({ kind: "accel", value }, "degC", wanted);
  if (conversion === null) return text;
  const { scale, unit } = conversion;
  return behindNames(text, (rest) =>
    rest.replace(
      /(not yet )?(-?\d+(?:\.\d+)?) degC(?!\w)/g,
      (_, notYet: string | undefined, number: string) => {
        const read = notYet ? Number(number) * scale : converted(Number(number), conversion);
        return `${notYet ?? ""}${Number(read.toPrecision(3))} ${unit}`;
      },
    ),
  );
}

/** Units as a person asked for them: metric as stored, or US. */
export type UnitSystem = "metric" | "us";

export interface ShownUnit {
  readonly label: string;
  readonly of: (value: number) => number;
}

const MM_PER_INCH = 25.4;
const UM_PER_MIL = 25.4;
const SIGNS: Readonly<Record<string, string>> = { um: "µm", degC: "°C", "1": "" };
const US: Readonly<Record<string, ShownUnit>> = {
  "mm/s": { label: "in/s", of: (value) => value / MM_PER_INCH },
  um: { label: "mils", of: (value) => value / UM_PER_MIL },
  degC: { label: "°F", of: (value) => value * 1.8 + 32 },
};

export function shownUnit(unit: string | null, system: UnitSystem): ShownUnit {
  const converted = system === "us" && unit !== null ? US[unit] : undefined;
  return converted ?? { label: unit === null ? "" : (SIGNS[unit] ?? unit), of: (value) => value };
}

/** Three significant digits. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const text = Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
  return text.replace(/^-/, "−");
}

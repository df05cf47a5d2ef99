import { conversionOf, converted, US } from "../read-units.ts";

/** Units as a person asked for them: metric as stored, or US. */
export type UnitSystem = "metric" | "us";

export interface ShownUnit {
  readonly label: string;
  readonly of: (value: number) => number;
}

const SIGNS: Readonly<Record<string, string>> = { um: "µm", degC: "°C", degF: "°F", "1": "" };

/** Without the detection (RMS, peak), which is told beside it. @param of spectra are of the kind `accel` */
export function shownUnit(
  of: { readonly kind: string; readonly value: string },
  unit: string | null,
  system: UnitSystem,
): ShownUnit {
  const conversion = system === "us" ? conversionOf(of, unit, US) : null;
  const name = conversion?.unit.replace(/ RMS$/, "") ?? unit ?? "";
  return { label: SIGNS[name] ?? name, of: (value) => converted(value, conversion) };
}

/** Three significant digits. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const text = Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
  return text.replace(/^-/, "−");
}

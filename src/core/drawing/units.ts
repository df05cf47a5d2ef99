import { conversionOf, converted, type ReadUnits } from "../read-units.ts";

export interface ShownUnit {
  readonly label: string;
  readonly of: (value: number) => number;
}

const SIGNS: Readonly<Record<string, string>> = { um: "µm", degC: "°C", degF: "°F", "1": "" };

/** Without the detection (RMS, peak), which is told beside it. @param of spectra are of the kind `accel` */
export function shownUnit(
  of: { readonly kind: string; readonly value: string },
  unit: string | null,
  wanted: ReadUnits,
): ShownUnit {
  const conversion = conversionOf(of, unit, wanted);
  const name = conversion?.unit.replace(/ RMS$/, "") ?? unit ?? "";
  return { label: SIGNS[name] ?? name, of: (value) => converted(value, conversion) };
}

/** Three significant digits. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const text = Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
  return text.replace(/^-/, "−");
}

import type { Site } from "../site.ts";
import { MM_PER_INCH, MM_S2_PER_G, type SignalUnit, UM_PER_MIL } from "../unit.ts";

/** Labels of the unit codes 0…6 (services 4.2). */
export const UNIT_LABELS: Readonly<Record<SignalUnit, string>> = {
  0: "G",
  1: "mm/s²",
  2: "mm/s",
  3: "in/s",
  4: "µm",
  5: "mils",
  6: "GE",
};

/** Our own codes, distinct from the vendor's small numbers (contract section 7: degC, V, A, Ah, mA, rpm). */
const OWN_UNITS = [
  [101, "degC"],
  [102, "V"],
  [103, "A"],
  [104, "Ah"],
  [105, "mA"],
  [106, "rpm"],
] as const;

/** Loop units get codes from here on. */
const SITE_CODE_MIN = 1_000;
const SITE_CODE_SPAN = 1_000_000;

export interface UnitEntry {
  readonly code: number;
  readonly label: string;
}

/** One spelling for the same unit: `mm/s^2`, `mm/s2`; both micro signs and `um`. A letter's case is another unit: mW, MW. */
function exactUnit(label: string): string {
  return label
    .trim()
    .replace(/\^?2|\u00b2/g, "2")
    .replace(/[\u00b5\u03bc]/g, "u");
}

const folded = (label: string) => exactUnit(label).toLowerCase();
/** The seven units of vibration, which vendors write in any letter case (services section 4.2). */
const VIBRATION: ReadonlyMap<string, string> = new Map(
  Object.values(UNIT_LABELS).map((label) => [folded(label), exactUnit(label)]),
);

const normalUnit = (label: string) => VIBRATION.get(folded(label)) ?? exactUnit(label);

/** How many of a unit equal one of another; the stored units of vibration are G, mm/s and um. */
const FACTORS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  G: { "mm/s2": MM_S2_PER_G },
  "mm/s": { "in/s": 1 / MM_PER_INCH },
  um: { mils: 1 / UM_PER_MIL },
};

/** Factor from the unit `from` to the unit `to`; null if they measure different quantities. */
export function unitFactor(from: string, to: string): number | null {
  const [stored, wanted] = [normalUnit(from), normalUnit(to)];
  return stored === wanted ? 1 : (FACTORS[stored]?.[wanted] ?? null);
}

/** The same between any two units, in either direction. */
export function conversionFactor(from: string, to: string): number | null {
  const back = unitFactor(to, from);
  return unitFactor(from, to) ?? (back === null ? null : 1 / back);
}

/** The units available at this site, each with its code. */
export class UnitTable {
  readonly entries: readonly UnitEntry[];
  readonly #byLabel: ReadonlyMap<string, UnitEntry>;
  readonly #byCode: ReadonlyMap<number, UnitEntry>;

  constructor(site: Site) {
    const entries: UnitEntry[] = [
      ...Object.entries(UNIT_LABELS).map(([code, label]) => ({ code: Number(code), label })),
      ...OWN_UNITS.map(([code, label]) => ({ code, label })),
    ];
    const labels = new Set(entries.map(({ label }) => normalUnit(label)));
    const codes = new Set(entries.map(({ code }) => code));
    for (const label of loopUnits(site)) {
      if (labels.has(normalUnit(label))) continue;
      labels.add(normalUnit(label));
      const code = siteCode(label, codes);
      codes.add(code);
      entries.push({ code, label });
    }
    this.entries = entries;
    this.#byLabel = new Map(entries.map((entry) => [normalUnit(entry.label), entry]));
    this.#byCode = new Map(entries.map((entry) => [entry.code, entry]));
  }

  ofLabel(label: string): UnitEntry | null {
    return this.#byLabel.get(normalUnit(label)) ?? null;
  }
  ofCode(code: number): UnitEntry | null {
    return this.#byCode.get(code) ?? null;
  }
}

/** Sorted, so that two units that would share a code get theirs in the same order at every start. */
function loopUnits(site: Site): string[] {
  const units = new Set<string>();
  for (const sensor of site.sensors) {
    if (!sensor.kinds.includes("loop")) continue;
    for (const { unit } of Object.values(sensor.channels)) if (unit !== undefined) units.add(unit);
  }
  return [...units].sort();
}

/** From the text alone (FNV-1a), so that editing other sensors of the site file never renumbers a unit. */
function siteCode(label: string, taken: ReadonlySet<number>): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(folded(label), "utf8")) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  let code = SITE_CODE_MIN + (hash % SITE_CODE_SPAN);
  while (taken.has(code)) code += 1;
  return code;
}

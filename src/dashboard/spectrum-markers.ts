/** Lines at which a machine's parts would show: shaft orders, bearings, blades, gears, mains. */
import { bearingOrders } from "../core/bearing-orders.ts";
import type { Machine } from "../core/machine.ts";
import type { ShownMeasurement } from "../core/query/shown.ts";
import { machineAt, type Shaft, shaftAt } from "../core/shaft.ts";

export interface MarkerLine {
  readonly hz: number;
  readonly label: string;
}
export interface MarkerSet {
  readonly key: string;
  readonly label: string;
  readonly lines: (speedHz: number | null) => readonly MarkerLine[];
  /** Of a bearing: its name and point, where a line of another one is called the same. */
  readonly of?: string;
  /** Its lines are among those of a set before it. */
  readonly isPart?: true;
}

const HARMONICS = 5;
const BEARING_HARMONICS = 4;
const MESH_HARMONICS = 3;
/** Electrical faults show at twice the mains frequency. */
const LINE_HARMONICS = [1, 2, 4];

/** The speed of the shaft at the sensor, r/min; null while it is unknown. */
export function turningRpm({
  shaft,
  speedRpm,
}: Pick<ShownMeasurement, "shaft" | "speedRpm">): number | null {
  return shaft?.speedRpm ?? speedRpm;
}

/** The same in words; empty while it is unknown. */
export function turningWords(one: Pick<ShownMeasurement, "shaft" | "speedRpm">): string {
  const rpm = turningRpm(one);
  const of = one.shaft === undefined ? "" : ` of the ${one.shaft.name}`;
  return rpm === null ? "" : `${Math.round(rpm)} rpm${of}`;
}

/**
 * Available markers, orders of the shaft at the point first, by whose speed all are asked for. Bearings of the sensor's own
 * measuring point come before others.
 */
export function markerSets(whole: Machine | null, point: number | null): MarkerSet[] {
  if (whole === null) return [ownOrders(null)];
  const machine = point === null ? whole : machineAt(whole, { point });
  const own = point === null ? null : shaftAt(whole, { point });
  const ownRatio = own?.speedRatio ?? 1;
  const { bearings = [], blades, teeth = [], lineHz, shafts = [] } = machine;
  const sets: MarkerSet[] = [ownOrders(own)];
  for (const shaft of shafts.length === 0 ? [] : [null, ...shafts]) {
    if (shaft === own) continue;
    const name = shaft?.name ?? "measured shaft";
    const order = (shaft?.speedRatio ?? 1) / ownRatio;
    const lines = multiples("", order, HARMONICS, `x of the ${name}`);
    sets.push({ key: `shaft-${name}`, label: `Orders of the ${name}`, lines });
  }
  const near = [...bearings].sort((a, b) => Number(b.point === point) - Number(a.point === point));
  for (const bearing of near) {
    const name = [bearing.name, `point ${bearing.point}`].filter(Boolean).join(", ");
    const key = `bearing-${bearings.indexOf(bearing)}`;
    const orders = bearingOrders(bearing);
    const turns = (shaftAt(whole, bearing)?.speedRatio ?? 1) / ownRatio;
    const at = (order: number | null) => (order === null ? null : order * turns);
    const parts = [
      ["BPFO", at(orders.bpfo)],
      ["BPFI", at(orders.bpfi)],
      // A damaged ball hits both races in each turn.
      ["2×BSF", at(orders.bsf === null ? null : 2 * orders.bsf)],
      ["FTF", at(orders.ftf)],
    ] as const;
    const lines = (speedHz: number | null) =>
      parts.flatMap(([part, order]) =>
        order === null ? [] : multiples(part, order, BEARING_HARMONICS, "")(speedHz),
      );
    sets.push({ key, label: `Bearing ${name}`, lines, of: name });
    for (const [part, order] of parts) {
      if (order === null) continue;
      const own = multiples(part, order, 2 * BEARING_HARMONICS, "");
      const label = `Bearing ${name}: ${part}`;
      sets.push({ key: `${key}-${part}`, label, lines: own, isPart: true });
    }
  }
  if (blades !== undefined) {
    sets.push({
      key: "blades",
      label: "Blade pass",
      lines: multiples("blades", blades, MESH_HARMONICS, ""),
    });
  }
  for (const count of teeth) {
    const lines = multiples(`mesh ${count}`, count, MESH_HARMONICS, "");
    sets.push({ key: `mesh-${count}`, label: `Gear mesh, ${count} teeth`, lines });
  }
  if (lineHz !== undefined) {
    const lines = () => LINE_HARMONICS.map((n) => ({ hz: n * lineHz, label: `${n}×mains` }));
    sets.push({ key: "mains", label: "Mains", lines });
  }
  return sets;
}

/** Lines of all parts; of two equal names each carries its bearing and point. */
export function allLines(sets: readonly MarkerSet[], speedHz: number | null): MarkerLine[] {
  const whole = sets.filter(({ isPart }) => isPart !== true);
  const all = whole.flatMap(({ lines, of }) => lines(speedHz).map((line) => ({ ...line, of })));
  const counts = new Map<string, number>();
  for (const { label } of all) counts.set(label, (counts.get(label) ?? 0) + 1);
  return all.map(({ hz, label, of }) => {
    const isShared = (counts.get(label) ?? 0) > 1 && of !== undefined;
    return { hz, label: isShared ? `${label} of ${of}` : label };
  });
}

const DEFECT = /BPFO|BPFI|BSF|FTF/;

/**
 * The name within one line's width: of those that the plot draws, else of all; the nearer one; at equal distance that of a defect.
 * @param lines of all parts, with whole names
 */
export function lineName(
  hz: number,
  step: number,
  lines: readonly MarkerLine[],
  drawn: readonly MarkerLine[] = [],
): string | null {
  const isDrawn = ({ hz: at }: MarkerLine) => drawn.some((one) => Math.abs(one.hz - at) < 1e-9);
  const near = lines
    .map((line) => ({ ...line, isDrawn: isDrawn(line), far: Math.abs(line.hz - hz) }))
    .filter(({ far }) => far <= step + 1e-9)
    .sort(
      (a, b) =>
        Number(b.isDrawn) - Number(a.isDrawn) ||
        (Math.abs(a.far - b.far) < 1e-9 ? 0 : a.far - b.far) ||
        Number(DEFECT.test(b.label)) - Number(DEFECT.test(a.label)),
    );
  return near[0]?.label ?? null;
}

function ownOrders(shaft: Shaft | null): MarkerSet {
  const lines = multiples("", 1, HARMONICS, "x");
  if (shaft === null) return { key: "orders", label: "Shaft orders", lines };
  const named = (speedHz: number | null) =>
    lines(speedHz).map((line, i) =>
      i === 0 ? { ...line, label: `${line.label} of the ${shaft.name}` } : line,
    );
  return { key: "orders", label: `Orders of the ${shaft.name}`, lines: named };
}

function multiples(
  name: string,
  order: number,
  count: number,
  unit: string,
): (speedHz: number | null) => MarkerLine[] {
  return (speedHz) =>
    speedHz === null
      ? []
      : Array.from({ length: count }, (_, i) => ({
          hz: (i + 1) * order * speedHz,
          label: name === "" ? `${i + 1}${unit}` : i === 0 ? name : `${i + 1}·${name}`,
        }));
}

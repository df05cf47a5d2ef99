/** Lines at which a machine's parts would show: shaft orders, bearings, blades, gears, mains. */
import { bearingOrders } from "../core/diagnosis/frequencies.ts";
import type { Machine } from "../core/machine.ts";

export interface MarkerLine {
  readonly hz: number;
  readonly label: string;
}
export interface MarkerSet {
  readonly key: string;
  readonly label: string;
  readonly lines: (speedHz: number | null) => readonly MarkerLine[];
}

const HARMONICS = 5;
const BEARING_HARMONICS = 4;
const MESH_HARMONICS = 3;
/** Electrical faults show at twice the mains frequency. */
const LINE_HARMONICS = [1, 2, 4];

/** Available markers, shaft orders first. Bearings of the sensor's own measuring point come before others. */
export function markerSets(machine: Machine | null, point: number | null): MarkerSet[] {
  const sets: MarkerSet[] = [
    { key: "orders", label: "Shaft orders", lines: multiples("", 1, HARMONICS, "x") },
  ];
  if (machine === null) return sets;
  const { bearings = [], blades, teeth = [], lineHz } = machine;
  const near = [...bearings].sort((a, b) => Number(b.point === point) - Number(a.point === point));
  for (const bearing of near) {
    const name = [bearing.name, `point ${bearing.point}`].filter(Boolean).join(", ");
    const key = `bearing-${bearings.indexOf(bearing)}`;
    const orders = bearingOrders(bearing);
    const parts = [
      ["BPFO", orders.bpfo],
      ["BPFI", orders.bpfi],
      // A damaged ball hits both races in each turn.
      ["2×BSF", orders.bsf === null ? null : 2 * orders.bsf],
      ["FTF", orders.ftf],
    ] as const;
    const lines = (speedHz: number | null) =>
      parts.flatMap(([part, order]) =>
        order === null ? [] : multiples(part, order, BEARING_HARMONICS, "")(speedHz),
      );
    sets.push({ key, label: `Bearing ${name}`, lines });
    for (const [part, order] of parts) {
      if (order === null) continue;
      const own = multiples(part, order, 2 * BEARING_HARMONICS, "");
      sets.push({ key: `${key}-${part}`, label: `Bearing ${name}: ${part}`, lines: own });
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

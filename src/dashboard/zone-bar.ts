/** Where a velocity lies in its zones: a bar with the limits, and its letter. */
import type { ShownSensor } from "../core/query/shown.ts";
import { h, hidden } from "./dom.ts";
import { zoneBounds } from "./trend-context.ts";

const ZONES = ["A", "B", "C", "D"] as const;
/** Each zone takes as much of the bar as another: the distance within it is to scale. */
const SHARE = 100 / ZONES.length;
/** Zone D has no end: it is drawn as long as C. */
function placeOf(value: number, bounds: readonly number[]): number {
  const edges = [0, ...bounds];
  const last = bounds.at(-1) ?? 1;
  const end = last + (last - (bounds.at(-2) ?? 0));
  for (let zone = ZONES.length - 1; zone >= 0; zone--) {
    const from = edges[zone] ?? 0;
    if (value < from) continue;
    const to = edges[zone + 1] ?? end;
    const part = Math.min(1, (value - from) / (to - from || 1));
    return (zone + part) * SHARE;
  }
  return 0;
}

/** @param isLive false: of a reading that is none of now; it has no colour */
export function zoneBar(
  value: number,
  zone: string | null,
  sensor: ShownSensor,
  isLive: boolean,
): HTMLElement {
  const bounds = zoneBounds(sensor);
  if (bounds === null) return h("span", { class: "zone-bar none" }, "no zones", hidden(" are set"));
  const at = placeOf(value, bounds);
  const pin = h("span", { class: "zone-pin" });
  pin.style.left = `${at.toFixed(1)}%`;
  const letter = zone ?? ZONES[Math.min(3, Math.floor(at / SHARE))] ?? "A";
  return h(
    "span",
    { class: isLive ? "zone-bar" : "zone-bar not-live" },
    hidden(`Zone ${letter}. `),
    ...ZONES.map((one) =>
      h(
        "span",
        {
          class: `zone-part zone-${one}`,
          "aria-hidden": "true",
          "data-here": one === letter ? "yes" : null,
        },
        one,
      ),
    ),
    pin,
  );
}

import type { ChartSeries } from "./chart-spec.ts";
import { h, s } from "./dom.ts";

/** The meaning of each line; lines differ in dash as well as in colour. */
export function legend(series: readonly ChartSeries[]): HTMLElement[] {
  return series.map(({ label, colour, dash, look }) =>
    h(
      "li",
      null,
      s(
        "svg",
        { viewBox: "0 0 28 10", class: `swatch ${colour}`, "aria-hidden": "true" },
        look === "points"
          ? s("circle", { cx: 14, cy: 5, r: 3.5 })
          : s("line", { x1: 1, y1: 5, x2: 27, y2: 5, "stroke-dasharray": dash?.join(" ") ?? null }),
      ),
      label,
    ),
  );
}

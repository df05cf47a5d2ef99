import type { Chart } from "./chart.ts";
import { saveCsv, savePng } from "./chart-export.ts";
import { h } from "./dom.ts";

/** Zoom and pan for touch and keyboard, where dragging does not work; and export buttons. */
export function chartTools(chart: Chart, what: string): HTMLElement {
  const button = (text: string, label: string, act: () => void): HTMLElement =>
    h(
      "button",
      { type: "button", "aria-label": `${label}, ${what}`, title: label, click: act },
      text,
    );
  return h(
    "div",
    { class: "tools", role: "group", "aria-label": `View of ${what}` },
    button("Earlier", "Earlier or lower", () => chart.pan(-0.5)),
    button("Later", "Later or higher", () => chart.pan(0.5)),
    button("Zoom in", "Zoom in", () => chart.zoom(0.5)),
    button("Zoom out", "Zoom out", () => chart.zoom(2)),
    button("All", "Show all", () => chart.reset()),
    button("CSV", "Save the numbers as CSV", () => {
      if (chart.shown !== null) saveCsv(chart.shown.spec);
    }),
    button("PNG", "Save the picture as PNG", () => {
      if (chart.shown !== null) savePng(chart.shown.spec, chart.shown.canvas);
    }),
  );
}

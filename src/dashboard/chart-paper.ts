/** Graphs on paper: drawn anew as SVG when the page is printed, in light colours and at the paper's width. */

import { roundTicks, timeTicks } from "../core/drawing/figure-axes.ts";
import { type Figure, figureSvg } from "../core/drawing/figures.ts";
import type { ChartSeries, ChartSpec } from "./chart-spec.ts";
import { h } from "./dom.ts";

const HEIGHT = 200;

/** A place that holds a drawing only while the page is printed; `svg` is asked then, and null draws nothing. */
export function onPaper(svg: () => string | null): {
  readonly root: HTMLElement;
  readonly stop: () => void;
} {
  const root = h("div", { class: "paper" });
  const ending = new AbortController();
  const { signal } = ending;
  window.addEventListener(
    "beforeprint",
    () => {
      const own = root.parentElement;
      // On paper all tabs stand one below the other.
      const isShown = own?.checkVisibility() === true || own?.closest("[role=tabpanel]") !== null;
      const text = isShown && own?.hidden !== true ? svg() : null;
      if (text === null) return;
      const made = new DOMParser().parseFromString(text, "image/svg+xml");
      root.replaceChildren(made.documentElement);
    },
    { signal },
  );
  window.addEventListener("afterprint", () => root.replaceChildren(), { signal });
  return { root, stop: () => ending.abort() };
}

/** @param shown the part of the x axis that is in view */
export function chartSvg(spec: ChartSpec, shown: readonly [number, number]): string {
  const { zone, summary, series } = spec;
  const [from, to] = shown;
  const ticks =
    zone === null
      ? roundTicks(from, to)
      : timeTicks(from * 1000, to * 1000, zone).map(({ at, text }) => ({ at: at / 1000, text }));
  const figure: Figure = {
    title: summary,
    height: HEIGHT,
    from,
    to,
    ticks,
    // The place beside the axis is narrow.
    xLabel: zone ?? /\(([^)]+)\)$/.exec(spec.xLabel)?.[1] ?? spec.xLabel,
    yLabel: spec.yLabel,
    isLog: spec.isLog === true,
    isFromZero: spec.fromZero === true,
    lines: series.filter(({ look }) => look !== "none").map((one) => lineOf(spec.x, one)),
    levels: spec.levels ?? [],
    marks: spec.marks ?? [],
    bands: spec.bands ?? [],
    ...(spec.lanes !== undefined && { lanes: spec.lanes }),
  };
  return figureSvg(figure);
}

function lineOf(x: readonly number[], series: ChartSeries): Figure["lines"][number] {
  const pieces: { x: number; y: number; low?: number; high?: number }[][] = [[]];
  for (const [at, value] of series.values.entries()) {
    // As in the plot: null is a gap, undefined is no point.
    if (value === undefined) continue;
    if (value === null) {
      pieces.push([]);
      continue;
    }
    const piece = pieces.at(-1);
    const before = piece?.at(-1);
    if (series.look === "steps" && before !== undefined)
      piece?.push({ x: x[at] ?? 0, y: before.y });
    const [low, high] = [series.low?.[at], series.high?.[at]];
    const isSpread = typeof low === "number" && typeof high === "number";
    piece?.push({ x: x[at] ?? 0, y: value, ...(isSpread && { low, high }) });
  }
  return {
    label: series.label,
    pieces: pieces.filter((piece) => piece.length > 0),
    // The style sheet has the light colours on paper, also where the screen is dark.
    colour: `var(--${series.colour})`,
    dash: series.dash?.join(" ") ?? "",
    isPoints: series.look === "points",
  };
}

/** Figures of what was measured: a trend and a spectrum. */
import { escapeText, roundTicks, timeTicks } from "../../../core/drawing/figure-axes.ts";
import {
  figureSvg,
  LINES,
  legend,
  type PlotPoint,
  piecesOf,
  type StateLane,
  type ZoneLevel,
} from "../../../core/drawing/figures.ts";

export interface TrendFigure {
  readonly title: string;
  /** Of the y axis. */
  readonly unit: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly zone: string;
  readonly lines: readonly { readonly label: string; readonly points: readonly PlotPoint[] }[];
  readonly levels: readonly ZoneLevel[];
  readonly lanes?: readonly StateLane[];
}

export function trendFigure({
  title,
  unit,
  fromMs,
  toMs,
  zone,
  lines,
  levels,
  lanes,
}: TrendFigure): string {
  const svg = figureSvg({
    title,
    height: 140,
    from: fromMs,
    to: toMs,
    ticks: timeTicks(fromMs, toMs, zone),
    xLabel: zone,
    yLabel: unit,
    levels,
    lines: lines.map(({ label, points }, at) => ({
      label,
      pieces: piecesOf(points),
      ...(LINES[at % LINES.length] ?? LINES[0]),
    })),
    ...(lanes !== undefined && { lanes }),
  });
  // Lanes have their names above them.
  if (lanes !== undefined) return withHeading(title, svg, TREND);
  return withHeading(title, svg, TREND, legend(lines.map(({ label }) => label)));
}

export interface SpectrumFigure {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** Between two values, as `x` of the marks. */
  readonly step: number;
  readonly values: ArrayLike<number>;
  readonly marks: readonly { readonly x: number; readonly label: string }[];
}

export function spectrumFigure({
  title,
  xLabel,
  yLabel,
  step,
  values,
  marks,
}: SpectrumFigure): string {
  const farthest = Math.max(...marks.map(({ x }) => x), 0);
  const end = Math.min(step * values.length, farthest > 0 ? farthest * 1.5 : Infinity);
  const count = Math.min(values.length, Math.ceil(end / step));
  const points = Array.from({ length: count }, (_, k) => ({ x: k * step, y: values[k] ?? 0 }));
  const svg = figureSvg({
    title,
    height: 180,
    from: 0,
    to: end,
    ticks: roundTicks(0, end),
    xLabel,
    yLabel,
    marks,
    lines: [{ label: title, pieces: [points], ...LINES[0] }],
  });
  return withHeading(title, svg, "spectrum");
}

const TREND = "trend";

/** On a phone the graph is wider than the page, and scrolls as a table does. */
const withHeading = (title: string, graph: string, kind: string, below = "") =>
  `<figure class="${kind}"><figcaption>${escapeText(title)}</figcaption><div class="scroll" tabindex="0" role="group" aria-label="Graph: ${escapeText(title)}">${graph}</div>${below}</figure>`;

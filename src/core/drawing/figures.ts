/** Graphs as inline SVG at the width of paper, in colours that also differ in grey. */
import type { ContactSpan } from "./contact-spans.ts";
import {
  at1,
  axisOf,
  BOTTOM,
  decades,
  escapeText,
  INNER,
  LEFT,
  least,
  type Tick,
  TOP,
  WIDTH,
  xTick,
  yAxis,
  yOf,
} from "./figure-axes.ts";

export const LINES = [
  { colour: "#1d4e89", dash: "" },
  { colour: "#b3541e", dash: "6 3" },
  { colour: "#2f6b3a", dash: "2 3" },
  { colour: "#6b2f6b", dash: "9 3 2 3" },
  { colour: "#00695c", dash: "12 4" },
  { colour: "#7a5c00", dash: "1 3" },
] as const;
/** A limit further above the values than this would flatten them. */
const NEAR = 1.6;
/** Steps longer than so many usual ones are gaps. */
const GAP_STEPS = 3;

export interface PlotPoint {
  readonly x: number;
  readonly y: number;
  /** Of what one point stands for. */
  readonly low?: number;
  readonly high?: number;
}
interface FigureLine {
  readonly label: string;
  /** What is drawn without a gap. */
  readonly pieces: readonly (readonly PlotPoint[])[];
  readonly colour: string;
  /** As `stroke-dasharray`. */
  readonly dash: string;
  readonly isPoints?: boolean;
}
export interface ZoneLevel {
  readonly label: string;
  readonly y: number;
}
/** The states of one contact over time. */
export interface StateLane {
  readonly label: string;
  readonly spans: readonly ContactSpan[];
}
export interface Figure {
  readonly title: string;
  readonly height: number;
  /** Ends of the x axis, in the unit of its points. */
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly Tick[];
  readonly xLabel: string;
  readonly yLabel: string;
  readonly isLog?: boolean;
  readonly isFromZero?: boolean;
  readonly lines: readonly FigureLine[];
  readonly levels?: readonly ZoneLevel[];
  readonly marks?: readonly { readonly x: number; readonly label: string }[];
  /** Usual values; null is unlimited on that side. */
  readonly bands?: readonly { readonly low: number | null; readonly high: number | null }[];
  /** Instead of lines, from the top down. */
  readonly lanes?: readonly StateLane[];
}

/** A graph without its heading. */
export function figureSvg(figure: Figure): string {
  const { title, height, from, to, ticks, xLabel, marks = [], lanes } = figure;
  const x = (at: number) => LEFT + ((at - from) / (to - from || 1)) * INNER;
  const foot = height - BOTTOM;
  const content = [
    ...ticks
      .filter(({ at }) => at >= from && at <= to)
      .map(({ at, text }) => xTick(x(at), text, height)),
    // Below the ticks: the names of some time zones are longer than the margin.
    `<text x="${LEFT + INNER}" y="${foot + 29}" text-anchor="end">${escapeText(xLabel)}</text>`,
    ...(lanes === undefined
      ? plotted(figure, x)
      : lanes.map((lane, at) => laneBar(lane, at, figure, x))),
    ...markLines(
      marks.flatMap((mark) => (mark.x >= from && mark.x <= to ? [{ ...mark, x: x(mark.x) }] : [])),
      foot,
    ),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escapeText(title)}" font-family="sans-serif" font-size="11" fill="#333"><rect width="${WIDTH}" height="${height}" fill="#fff"/>${content.join("")}</svg>`;
}

const LABEL_HEIGHT = 11;
const CHARACTER_WIDTH = 6.2;
const MARK_ROWS = 4;

/** A label for which there is no room is left out. */
function markLines(
  marks: readonly { readonly x: number; readonly label: string }[],
  foot: number,
): string[] {
  const ends: number[] = Array.from({ length: MARK_ROWS }, () => 0);
  return [...marks]
    .sort((a, b) => a.x - b.x)
    .map(({ x, label }) => {
      const row = ends.findIndex((end) => end <= x);
      if (row >= 0) ends[row] = x + 6 + label.length * CHARACTER_WIDTH;
      const text = `<text x="${at1(x + 2)}" y="${TOP + 9 + row * LABEL_HEIGHT}" fill="#b3541e">${escapeText(label)}</text>`;
      return `<line x1="${at1(x)}" x2="${at1(x)}" y1="${TOP}" y2="${foot}" stroke="#b3541e" stroke-dasharray="3 3"/>${row < 0 ? "" : text}`;
    });
}

/** The y axis with everything that is drawn over it. */
function plotted(figure: Figure, x: (at: number) => number): string[] {
  const { from, to, height, lines, levels = [], bands = [] } = figure;
  const inView = lines.map((line) => ({
    ...line,
    pieces: line.pieces.map((piece) =>
      thinned(
        piece.filter((p) => p.x >= from && p.x <= to),
        x,
      ),
    ),
  }));
  const all = inView.flatMap(({ pieces }) =>
    pieces.flatMap((piece) => piece.flatMap(({ y, low = y, high = y }) => [low, high])),
  );
  let low = least(all);
  let highest = -least(all.map((value) => -value));
  if (all.length === 0) [low, highest] = [figure.isLog === true ? 0.1 : 0, 1];
  if (figure.isFromZero !== false && figure.isLog !== true) low = Math.min(0, low);
  const near = levels.filter(({ y }) => y > low && y <= Math.max(highest, 1e-12) * NEAR);
  for (const { y } of near) highest = Math.max(highest, y);
  const scale = figure.isLog === true ? decades(low, highest) : axisOf(low, highest);
  const y = yOf(scale, height, figure.isLog === true);
  const clear = (value: number | null, otherwise: number) =>
    y(Math.min(scale.high, Math.max(scale.low, value ?? otherwise)));
  return [
    ...bands.map((band) => {
      const [head, end] = [clear(band.high, scale.high), clear(band.low, scale.low)];
      return `<rect x="${LEFT}" y="${at1(head)}" width="${INNER}" height="${at1(end - head)}" fill="#2f6b3a" fill-opacity="0.12"/>`;
    }),
    yAxis(scale, y, figure.yLabel),
    ...near.map(
      (level) =>
        `<line x1="${LEFT}" x2="${LEFT + INNER}" y1="${at1(y(level.y))}" y2="${at1(y(level.y))}" stroke="#8a1c1c" stroke-dasharray="4 4"/><text x="${LEFT + INNER + 4}" y="${at1(y(level.y) + 4)}" fill="#8a1c1c">${escapeText(level.label)}</text>`,
    ),
    ...inView.map((line) => lineOf(line, x, y)),
  ];
}

function lineOf(
  { pieces, colour, dash, isPoints }: FigureLine,
  x: (at: number) => number,
  y: (value: number) => number,
): string {
  const path = (points: readonly PlotPoint[], of: (point: PlotPoint) => number) =>
    points.map((p, i) => `${i === 0 ? "M" : "L"}${at1(x(p.x))} ${at1(y(of(p)))}`).join("");
  const long = isPoints === true ? [] : pieces.filter((piece) => piece.length > 1);
  const single = pieces.filter((piece) => isPoints === true || piece.length === 1).flat();
  const spread = long
    .filter((piece) => piece.some((p) => p.low !== undefined))
    .map((piece) => {
      const back = path([...piece].reverse(), (p) => p.low ?? p.y).replace("M", "L");
      return `${path(piece, (p) => p.high ?? p.y)}${back}Z`;
    });
  const dots = single.map(
    (p) => `<circle cx="${at1(x(p.x))}" cy="${at1(y(p.y))}" r="2" fill="${colour}"/>`,
  );
  const area =
    spread.length === 0 ? "" : `<path d="${spread.join("")}" fill="${colour}" fill-opacity="0.2"/>`;
  const drawn = long.map((piece) => path(piece, (p) => p.y)).join("");
  return `${area}<path d="${drawn}" fill="none" stroke="${colour}" stroke-width="1.4" stroke-dasharray="${dash}"/>${dots.join("")}`;
}

/** Where there are more points than paper shows: the least and the greatest of each step, so that no peak is lost. */
function thinned(points: readonly PlotPoint[], x: (at: number) => number): readonly PlotPoint[] {
  if (points.length <= 2 * INNER) return points;
  const kept: PlotPoint[] = [];
  for (let at = 0; at < points.length; ) {
    const column = Math.floor(x(points[at]?.x ?? 0));
    let [least, most] = [points[at], points[at]];
    for (; at < points.length && Math.floor(x(points[at]?.x ?? 0)) === column; at++) {
      const point = points[at];
      if (point === undefined || least === undefined || most === undefined) continue;
      if (point.y < least.y) least = point;
      if (point.y > most.y) most = point;
    }
    for (const point of [least, most].sort((a, b) => (a?.x ?? 0) - (b?.x ?? 0)))
      if (point !== undefined && point !== kept.at(-1)) kept.push(point);
  }
  return kept;
}

/** The name above its bar: the margin is too narrow for names. Off is a line at the foot of the bar. */
function laneBar(
  { label, spans }: StateLane,
  at: number,
  figure: Figure,
  x: (at: number) => number,
) {
  const step = (figure.height - TOP - BOTTOM) / Math.max(1, figure.lanes?.length ?? 1);
  const head = TOP + at * step + LABEL_HEIGHT + 2;
  const barHeight = Math.max(4, step - LABEL_HEIGHT - 4);
  const bars = spans
    .filter(({ from, to }) => to >= figure.from && from <= figure.to)
    .map(({ from, to, state }) => {
      const left = x(Math.max(figure.from, from));
      const width = Math.max(1, x(Math.min(figure.to, to)) - left);
      const size = state === "off" ? 2 : barHeight;
      return `<rect x="${at1(left)}" y="${at1(head + barHeight - size)}" width="${at1(width)}" height="${at1(size)}" fill="${LINES[at % LINES.length]?.colour}"${state === "both" ? ' fill-opacity="0.45"' : ""}/>`;
    });
  return `<text x="${LEFT}" y="${at1(head - 3)}">${escapeText(label)}</text>${bars.join("")}`;
}

/** Below a graph, where long names wrap. */
export function legend(labels: readonly string[]): string {
  const items = labels.map((label, at) => {
    const { colour, dash } = LINES[at % LINES.length] ?? LINES[0];
    return `<li><svg width="26" height="4" aria-hidden="true"><line x2="26" y1="2" y2="2" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash}"/></svg> ${escapeText(label)}</li>`;
  });
  return `<ul class="legend">${items.join("")}</ul>`;
}

export function piecesOf(points: readonly PlotPoint[]) {
  const steps = points.slice(1).map(({ x }, at) => x - (points[at]?.x ?? x));
  const usual = [...steps].sort((a, b) => a - b)[steps.length >> 1] ?? 0;
  const pieces: PlotPoint[][] = [];
  for (const [at, point] of points.entries()) {
    const isGap = at === 0 || (steps[at - 1] ?? 0) > GAP_STEPS * usual;
    if (isGap) pieces.push([]);
    pieces.at(-1)?.push(point);
  }
  return pieces;
}

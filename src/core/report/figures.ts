/** Graphs as inline SVG at the width of paper, in colours that also differ in grey. */
import { addDays, dayOf, dayStartMs } from "../time-zone.ts";
import { digits } from "./units.ts";

const WIDTH = 720;
const LEFT = 56;
const RIGHT = 84;
const TOP = 12;
const BOTTOM = 44;
const INNER = WIDTH - LEFT - RIGHT;
const LINES = [
  { colour: "#1d4e89", dash: "" },
  { colour: "#b3541e", dash: "6 3" },
  { colour: "#2f6b3a", dash: "2 3" },
  { colour: "#6b2f6b", dash: "9 3 2 3" },
] as const;
/** A limit further above the values than this would flatten them. */
const NEAR = 1.6;
const TICKS = 5;
/** Steps longer than so many usual ones are gaps. */
const GAP_STEPS = 3;

interface FigureLine {
  readonly label: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}
export interface Level {
  readonly label: string;
  readonly y: number;
}

export interface TrendFigure {
  readonly title: string;
  /** Of the y axis. */
  readonly unit: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly zone: string;
  readonly lines: readonly FigureLine[];
  readonly levels: readonly Level[];
}

export function trendFigure(figure: TrendFigure): string {
  const { fromMs, toMs, zone, lines, unit } = figure;
  const all = lines.flatMap(({ points }) => points.map(({ y }) => y));
  const low = Math.min(0, ...all);
  const highest = Math.max(...all, 0);
  const levels = figure.levels.filter(({ y }) => y > low && y <= Math.max(highest, 1e-12) * NEAR);
  const scale = axisOf(low, Math.max(highest, ...levels.map(({ y }) => y)));
  const x = (ms: number) => LEFT + ((ms - fromMs) / Math.max(1, toMs - fromMs)) * INNER;
  const height = 200;
  const y = yOf(scale, height);
  const drawn = lines.map(({ points }, at) => {
    const { colour, dash } = LINES[at % LINES.length] ?? LINES[0];
    const pieces = piecesOf(points);
    const paths = pieces
      .filter((piece) => piece.length > 1)
      .map((piece) => piece.map((p, i) => `${i === 0 ? "M" : "L"}${at1(x(p.x))} ${at1(y(p.y))}`));
    const single = pieces.filter((piece) => piece.length === 1).flat();
    return `<path d="${paths.flat().join("")}" fill="none" stroke="${colour}" stroke-width="1.4" stroke-dasharray="${dash}"/>${single
      .map((p) => `<circle cx="${at1(x(p.x))}" cy="${at1(y(p.y))}" r="2" fill="${colour}"/>`)
      .join("")}`;
  });
  return svg(figure.title, height, [
    yAxis(scale, y, unit),
    ...dayTicks(fromMs, toMs, zone).map(({ ms, text }) => xTick(x(ms), text, height)),
    ...levels.map(
      (level) =>
        `<line x1="${LEFT}" x2="${LEFT + INNER}" y1="${at1(y(level.y))}" y2="${at1(y(level.y))}" stroke="#8a1c1c" stroke-dasharray="4 4"/><text x="${LEFT + INNER + 4}" y="${at1(y(level.y) + 4)}" fill="#8a1c1c">${escapeText(level.label)}</text>`,
    ),
    ...drawn,
    legend(
      lines.map(({ label }) => label),
      height,
    ),
  ]);
}

export interface SpectrumFigure {
  readonly title: string;
  /** Peak amplitude, in this unit. */
  readonly unit: string;
  readonly stepHz: number;
  readonly values: ArrayLike<number>;
  readonly marks: readonly { readonly hz: number; readonly label: string }[];
}

export function spectrumFigure({ title, unit, stepHz, values, marks }: SpectrumFigure): string {
  const farthest = Math.max(...marks.map(({ hz }) => hz), 0);
  const endHz = Math.min(stepHz * values.length, farthest > 0 ? farthest * 1.5 : Infinity);
  const count = Math.min(values.length, Math.ceil(endHz / stepHz));
  const highest = Math.max(...Array.from({ length: count }, (_, k) => values[k] ?? 0), 0);
  const scale = axisOf(0, highest);
  const height = 190;
  const y = yOf(scale, height);
  const x = (hz: number) => LEFT + (hz / endHz) * INNER;
  const path: string[] = [];
  const per = Math.max(1, Math.ceil(count / INNER));
  for (let k = 0; k < count; k += per) {
    let most = 0;
    for (let i = k; i < Math.min(count, k + per); i++) most = Math.max(most, values[i] ?? 0);
    path.push(`${k === 0 ? "M" : "L"}${at1(x(k * stepHz))} ${at1(y(most))}`);
  }
  const frequencies = axisOf(0, endHz);
  const ticks = Array.from({ length: Math.floor(endHz / frequencies.step) + 1 }, (_, n) =>
    xTick(x(n * frequencies.step), digits(n * frequencies.step), height),
  );
  return svg(title, height, [
    yAxis(scale, y, `${unit} peak`),
    ...ticks,
    `<text x="${LEFT + INNER + 4}" y="${height - BOTTOM + 16}">Hz</text>`,
    ...marks.map(
      ({ hz, label }) =>
        `<line x1="${at1(x(hz))}" x2="${at1(x(hz))}" y1="${TOP + 10}" y2="${height - BOTTOM}" stroke="#b3541e" stroke-dasharray="3 3"/><text x="${at1(x(hz) + 2)}" y="${TOP + 9}" fill="#b3541e">${escapeText(label)}</text>`,
    ),
    `<path d="${path.join("")}" fill="none" stroke="#1d4e89"/>`,
  ]);
}

export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

interface Scale {
  readonly low: number;
  readonly high: number;
  readonly step: number;
}

/** Round ticks. */
function axisOf(low: number, highest: number): Scale {
  const span = highest - low || 1;
  const power = 10 ** Math.floor(Math.log10(span / TICKS));
  const part = span / TICKS / power;
  const step = power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
  return { low: Math.floor(low / step) * step, high: Math.ceil((low + span) / step) * step, step };
}

const yOf =
  ({ low, high }: Scale, height: number) =>
  (value: number) =>
    TOP + (1 - (value - low) / (high - low)) * (height - TOP - BOTTOM);

function yAxis({ low, high, step }: Scale, y: (value: number) => number, unit: string): string {
  const ticks = Array.from(
    { length: Math.round((high - low) / step) + 1 },
    (_, n) => low + n * step,
  );
  const lines = ticks.map(
    (tick) =>
      `<line x1="${LEFT}" x2="${LEFT + INNER}" y1="${at1(y(tick))}" y2="${at1(y(tick))}" stroke="#ddd"/><text x="${LEFT - 6}" y="${at1(y(tick) + 4)}" text-anchor="end">${digits(tick)}</text>`,
  );
  const middle = at1((y(low) + y(high)) / 2);
  return `${lines.join("")}<text transform="translate(13 ${middle}) rotate(-90)" text-anchor="middle">${escapeText(unit)}</text>`;
}

function xTick(x: number, text: string, height: number): string {
  const foot = height - BOTTOM;
  return `<line x1="${at1(x)}" x2="${at1(x)}" y1="${foot}" y2="${foot + 4}" stroke="#555"/><text x="${at1(x)}" y="${foot + 16}" text-anchor="middle">${escapeText(text)}</text>`;
}

function legend(labels: readonly string[], height: number): string {
  return labels
    .map((label, at) => {
      const { colour, dash } = LINES[at % LINES.length] ?? LINES[0];
      const x = LEFT + at * 160;
      return `<line x1="${x}" x2="${x + 26}" y1="${height - 8}" y2="${height - 8}" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash}"/><text x="${x + 31}" y="${height - 4}">${escapeText(label)}</text>`;
    })
    .join("");
}

/** A handful of days of the gateway's zone. */
function dayTicks(fromMs: number, toMs: number, zone: string) {
  const days = Math.max(1, Math.ceil((toMs - fromMs) / 86_400_000));
  const every = Math.ceil(days / 7);
  const ticks: { ms: number; text: string }[] = [];
  const words = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    day: "numeric",
    month: "short",
  });
  for (let day = addDays(dayOf(fromMs, zone), 1); ; day = addDays(day, every)) {
    const ms = dayStartMs(day, zone);
    if (ms > toMs) return ticks;
    ticks.push({ ms, text: words.format(ms) });
  }
}

function piecesOf(points: FigureLine["points"]) {
  const steps = points.slice(1).map(({ x }, at) => x - (points[at]?.x ?? x));
  const usual = steps.toSorted((a, b) => a - b)[steps.length >> 1] ?? 0;
  const pieces: { x: number; y: number }[][] = [];
  for (const [at, point] of points.entries()) {
    const isGap = at === 0 || (steps[at - 1] ?? 0) > GAP_STEPS * usual;
    if (isGap) pieces.push([]);
    pieces.at(-1)?.push(point);
  }
  return pieces;
}

const at1 = (value: number) => value.toFixed(1);

function svg(title: string, height: number, content: readonly string[]): string {
  return `<figure><figcaption>${escapeText(title)}</figcaption><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escapeText(title)}" font-family="sans-serif" font-size="11" fill="#333"><rect width="${WIDTH}" height="${height}" fill="#fff"/>${content.join("")}</svg></figure>`;
}

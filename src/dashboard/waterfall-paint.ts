/** Paints a waterfall, lines one behind the other or a spectrogram, on a canvas or on paper. */
import type { FrequencyScale } from "../core/read-units.ts";
import { niceStep, number } from "./format.ts";
import type { FallSpectrum } from "./series.ts";
import type { Pen } from "./svg-pen.ts";

/** Of the amplitude scale. */
const LEFT = 68;
const RIGHT = 128;
const BOTTOM = 34;
/** Share of the height that the largest line may take above its own baseline. */
const LIFT = 0.3;
/** A date needs so much height. */
const DATE_PX = 14;
/** Columns of a spectrogram. */
const CELLS = 240;

export interface FallLayout {
  readonly width: number;
  readonly height: number;
  /** Of the rows' base lines, the newest first. */
  readonly feet: readonly number[];
  readonly lift: number;
}

export interface FallPicture {
  readonly rows: readonly FallSpectrum[];
  /** Of each row, in the unit of the axis. */
  readonly steps: readonly number[];
  /** Highest value of the axis that is wanted. */
  readonly end: number;
  readonly unit: FrequencyScale["unit"];
  /** Of the amplitude. */
  readonly label: string;
  readonly chosen: number;
  readonly isSpectrogram: boolean;
  readonly dateOf: (row: FallSpectrum) => string;
  readonly tint: (name: string) => string;
}

export function fallLayout(rows: number, width: number): FallLayout {
  const height = Math.min(900, 200 + 14 * rows);
  const space = height - BOTTOM;
  const lift = space * LIFT;
  const step = (space - lift) / Math.max(1, rows - 1);
  return { width, height, lift, feet: Array.from({ length: rows }, (_, i) => space - i * step) };
}

/** The first, the last, and as many between as have room for their date. */
function datedRows(feet: readonly number[]): ReadonlySet<number> {
  const apart = (feet[0] ?? 0) - (feet[1] ?? 0);
  const every = Math.max(1, Math.ceil(DATE_PX / (apart || DATE_PX)));
  const last = feet.length - 1;
  const dated = new Set<number>([0, last]);
  for (let i = every; i <= last - every; i += every) dated.add(i);
  return dated;
}

export function paintFall(ctx: Pen, layout: FallLayout, picture: FallPicture): void {
  const { width, height } = layout;
  const { rows, steps, tint } = picture;
  const ends = rows.map(({ values }, i) => (steps[i] ?? 0) * values.length);
  const end = Math.min(
    picture.end,
    ends.reduce((most, one) => Math.max(most, one), 0),
  );
  const inner = width - LEFT - RIGHT;
  const top =
    rows.reduce((most, { values }, i) => Math.max(most, highest(values, steps[i] ?? 1, end)), 0) ||
    1;
  ctx.font = "12px system-ui, sans-serif";
  const shape = { end, inner, top };
  if (picture.isSpectrogram) paintCells(ctx, layout, picture, shape);
  else paintLines(ctx, layout, picture, shape);
  paintDates(ctx, layout, picture, inner);
  ctx.fillStyle = tint("muted");
  paintAxis(ctx, picture.unit, end, inner, height);
  paintScale(ctx, layout, picture, top);
}

interface Shape {
  readonly end: number;
  readonly inner: number;
  readonly top: number;
}

function paintLines(
  ctx: Pen,
  { feet, lift }: FallLayout,
  picture: FallPicture,
  shape: Shape,
): void {
  const { rows, steps, chosen, tint } = picture;
  const { end, inner, top } = shape;
  for (let i = rows.length - 1; i >= 0; i--) {
    const values = rows[i]?.values ?? new Float32Array();
    const foot = feet[i] ?? 0;
    const step = steps[i] ?? 1;
    const isChosen = i === chosen;
    ctx.beginPath();
    ctx.moveTo(LEFT, foot);
    const count = Math.min(values.length, Math.floor(end / step) + 1);
    for (let k = 0; k < count; k++)
      ctx.lineTo(LEFT + ((k * step) / end) * inner, foot - ((values[k] ?? 0) / top) * lift);
    ctx.lineTo(LEFT + inner, foot);
    // Lines in front hide those behind.
    ctx.fillStyle = tint("card");
    ctx.fill();
    ctx.lineWidth = isChosen ? 2 : 1;
    ctx.strokeStyle = tint(isChosen ? "series-2" : "series-1");
    ctx.stroke();
  }
}

/** Dark where it is high; the chosen one has a line below. */
function paintCells(ctx: Pen, { feet }: FallLayout, picture: FallPicture, shape: Shape): void {
  const { rows, steps, chosen, tint } = picture;
  const { end, inner, top } = shape;
  const apart = Math.max(2, (feet[0] ?? 0) - (feet[1] ?? 0) || 24);
  const wide = inner / CELLS;
  for (const [i, { values }] of rows.entries()) {
    const foot = feet[i] ?? 0;
    const step = steps[i] ?? 1;
    for (let cell = 0; cell < CELLS; cell++) {
      const from = Math.floor(((cell / CELLS) * end) / step);
      const to = Math.max(from + 1, Math.floor((((cell + 1) / CELLS) * end) / step));
      let most = 0;
      for (let k = from; k < to; k++) most = Math.max(most, values[k] ?? 0);
      // By the root, so that lines below the highest are seen, too.
      const share = Math.sqrt(Math.min(1, most / top));
      if (share < 0.04) continue;
      ctx.fillStyle = `color-mix(in srgb, ${tint("series-1")} ${Math.round(share * 100)}%, ${tint("card")})`;
      ctx.fillRect(LEFT + cell * wide, foot - apart, wide + 0.5, apart - 1);
    }
    if (i !== chosen) continue;
    ctx.fillStyle = tint("series-2");
    ctx.fillRect(LEFT, foot - 1, inner, 2);
  }
}

function paintDates(ctx: Pen, { feet }: FallLayout, picture: FallPicture, inner: number): void {
  const { rows, chosen, tint, dateOf } = picture;
  const dated = datedRows(feet);
  ctx.textAlign = "left";
  for (const [i, row] of rows.entries()) {
    if (!dated.has(i)) continue;
    ctx.fillStyle = tint(i === chosen ? "series-2" : "muted");
    ctx.fillText(dateOf(row), LEFT + inner + 6, (feet[i] ?? 0) + 3, RIGHT - 8);
  }
}

function paintAxis(ctx: Pen, unit: string, end: number, inner: number, height: number): void {
  const step = niceStep(end / Math.max(3, inner / 110));
  ctx.textAlign = "center";
  for (let at = 0; at <= end; at += step) {
    const x = LEFT + (at / end) * inner;
    ctx.fillRect(x, height - BOTTOM, 1, 5);
    ctx.fillText(String(Number(at.toPrecision(6))), x, height - BOTTOM + 17);
  }
  ctx.textAlign = "left";
  // Beside the widest label of the last tick.
  ctx.fillText(unit, LEFT + inner + 26, height - BOTTOM + 17);
}

/** How high the highest line is: beside the newest spectrum, or as shades. */
function paintScale(ctx: Pen, { feet, lift }: FallLayout, picture: FallPicture, top: number): void {
  const { label, tint, isSpectrogram } = picture;
  const foot = feet[0] ?? 0;
  const unit = `${label} peak`;
  if (isSpectrogram) {
    for (let part = 0; part < 20; part++) {
      const share = Math.sqrt((part + 1) / 20);
      ctx.fillStyle = `color-mix(in srgb, ${tint("series-1")} ${Math.round(share * 100)}%, ${tint("card")})`;
      ctx.fillRect(LEFT - 14, foot - ((part + 1) / 20) * lift, 8, lift / 20 + 0.5);
    }
  }
  ctx.fillStyle = tint("muted");
  const x = LEFT - 16;
  if (!isSpectrogram) ctx.fillRect(LEFT - 6, foot - lift, 1, lift);
  ctx.textAlign = "center";
  for (const [share, text] of [
    [0, "0"],
    [0.5, number(top / 2)],
    [1, number(top)],
  ] as const) {
    const y = foot - share * lift;
    if (!isSpectrogram) ctx.fillRect(LEFT - 9, y, 4, 1);
    ctx.fillText(text, x - 14, y + 4);
  }
  // From the edge on: in the middle, a long one would begin outside.
  ctx.textAlign = "left";
  ctx.fillText(unit, 0, foot - lift - 10);
}

function highest(values: Float32Array, step: number, end: number): number {
  let most = 0;
  for (let k = 0; k < values.length && k * step <= end; k++) most = Math.max(most, values[k] ?? 0);
  return most;
}

export interface FallPeak {
  readonly row: number;
  /** Line of its spectrum. */
  readonly line: number;
  readonly amplitude: number;
}

/** The highest local peaks of all spectra. */
export function fallPeaks(rows: readonly FallSpectrum[], count: number): readonly FallPeak[] {
  const found: FallPeak[] = [];
  for (const [row, { values }] of rows.entries()) {
    const own: FallPeak[] = [];
    for (let line = 1; line < values.length - 1; line++) {
      const amplitude = values[line] ?? 0;
      const isPeak = amplitude > (values[line - 1] ?? 0) && amplitude >= (values[line + 1] ?? 0);
      if (isPeak) own.push({ row, line, amplitude });
    }
    own.sort((a, b) => b.amplitude - a.amplitude);
    found.push(...own.slice(0, count));
  }
  return found.sort((a, b) => b.amplitude - a.amplitude).slice(0, count);
}

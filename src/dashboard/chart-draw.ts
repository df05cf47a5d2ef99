/** Everything a plot draws besides its lines: levels, marks, usual ranges, states. */
import type uPlot from "uplot";
import type { ChartBand, ChartLane, ChartLevel, ChartMark } from "./chart-spec.ts";
import { type Box, type LabelPlaces, placesAtLevel, placesAtMark } from "./label-places.ts";
import { colour } from "./theme.ts";

/** Height of a label, CSS pixels. */
const LABEL_HEIGHT = 15;

export function drawLevels(plot: uPlot, levels: readonly ChartLevel[], labels: LabelPlaces): void {
  const { ctx, bbox, scales } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  const [low, high] = [scales["y"]?.min ?? 0, scales["y"]?.max ?? 0];
  const lines = levels
    .filter(({ y }) => y >= low && y <= high)
    .map((level) => ({ ...level, at: Math.round(plot.valToPos(level.y, "y", true)) }));
  ctx.lineWidth = ratio;
  ctx.setLineDash([6 * ratio, 4 * ratio]);
  for (const { at, colour: name } of lines) {
    ctx.strokeStyle = colour(name);
    ctx.beginPath();
    ctx.moveTo(bbox.left, at);
    ctx.lineTo(bbox.left + bbox.width, at);
    ctx.stroke();
  }
  const all = lines.map(({ at }) => at);
  for (const { at, label, colour: name } of lines) {
    ctx.fillStyle = colour(name);
    const size = { width: ctx.measureText(label).width, height: LABEL_HEIGHT * ratio };
    const place = labels.take(placesAtLevel(at, size, bbox, all), bbox);
    if (place !== null) drawLabel(ctx, label, place, ratio);
  }
  ctx.restore();
}

export function drawMarks(plot: uPlot, marks: readonly ChartMark[], labels: LabelPlaces): void {
  const { ctx, bbox, scales } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  for (const mark of marks) {
    if (mark.x < (scales["x"]?.min ?? 0) || mark.x > (scales["x"]?.max ?? 0)) continue;
    const x = Math.round(plot.valToPos(mark.x, "x", true));
    ctx.strokeStyle = colour(mark.colour);
    ctx.fillStyle = colour(mark.colour);
    ctx.lineWidth = ratio;
    ctx.setLineDash([2 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    // Labels for which there is no room are left out until the plot is zoomed.
    const size = { width: ctx.measureText(mark.label).width, height: LABEL_HEIGHT * ratio };
    const place = labels.take(placesAtMark(x, size, bbox), bbox);
    if (place !== null) drawLabel(ctx, mark.label, place, ratio);
  }
  ctx.restore();
}

/** On a rim of the paper's colour, so that no line of the plot strikes it through. */
function drawLabel(
  ctx: CanvasRenderingContext2D,
  text: string,
  { left, top, height }: Box,
  ratio: number,
): void {
  const foot = top + height - 3 * ratio;
  // The axes leave theirs, by which a label would sink onto its line.
  ctx.textBaseline = "alphabetic";
  ctx.setLineDash([]);
  ctx.lineJoin = "round";
  ctx.lineWidth = 4 * ratio;
  ctx.strokeStyle = colour("card");
  ctx.strokeText(text, left, foot);
  ctx.fillText(text, left, foot);
}

/** Areas behind the lines. */
export function drawBands(plot: uPlot, bands: readonly ChartBand[]): void {
  const { ctx, bbox, scales } = plot;
  const [bottom, top] = [scales["y"]?.min ?? 0, scales["y"]?.max ?? 1];
  ctx.save();
  for (const { low, high, colour: name } of bands) {
    const from = Math.max(bottom, low ?? bottom);
    const to = Math.min(top, high ?? top);
    if (to <= from) continue;
    const y = plot.valToPos(to, "y", true);
    ctx.fillStyle = `${colour(name)}1f`;
    ctx.fillRect(bbox.left, y, bbox.width, plot.valToPos(from, "y", true) - y);
  }
  ctx.restore();
}

/** Share of a lane's height that its bar takes while on; off is a line at its bottom. */
const BAR = 0.62;

export function drawLanes(plot: uPlot, lanes: readonly ChartLane[]): void {
  const { ctx, bbox, scales } = plot;
  const [min, max] = [scales["x"]?.min ?? 0, scales["x"]?.max ?? 1];
  const at = (x: number) => plot.valToPos(Math.min(max, Math.max(min, x)), "x", true);
  ctx.save();
  for (const [i, { spans }] of lanes.entries()) {
    const foot = plot.valToPos(lanes.length - i - 1 + (1 - BAR) / 2, "y", true);
    const head = plot.valToPos(lanes.length - i - (1 - BAR) / 2, "y", true);
    // Running is nothing to be warned of: the bar says it by its height.
    ctx.fillStyle = colour("muted");
    for (const { from, to, state } of spans) {
      if (to < min || from > max) continue;
      const left = Math.max(bbox.left, at(from));
      const width = Math.max(devicePixelRatio, at(to) - left);
      ctx.globalAlpha = state === "both" ? 0.45 : 1;
      if (state === "off")
        ctx.fillRect(left, foot - 2 * devicePixelRatio, width, 2 * devicePixelRatio);
      else ctx.fillRect(left, head, width, foot - head);
    }
  }
  ctx.restore();
}

/** Everything a plot draws besides its lines: levels, marks, usual ranges, states. */
import type uPlot from "uplot";
import type { ChartBand, ChartLane, ChartLevel, ChartMark } from "./chart-spec.ts";
import { type Box, type LabelPlaces, placesAtLevel, placesAtMark } from "./label-places.ts";
import { colour } from "./theme.ts";

/** Height of a label, CSS pixels. */
const LABEL_HEIGHT = 15;

/** Lines of the levels, behind everything else. */
export function drawLevels(plot: uPlot, levels: readonly ChartLevel[]): void {
  const { left, width } = plot.bbox;
  drawLines(
    plot,
    [6, 4],
    levelsAt(plot, levels).map(({ at, colour: name }) => [name, [left, at], [left + width, at]]),
  );
}

/** Marks, then all labels: no line strikes one through. */
export function drawMarks(
  plot: uPlot,
  levels: readonly ChartLevel[],
  marks: readonly ChartMark[],
  labels: LabelPlaces,
): void {
  const { ctx, bbox, scales } = plot;
  const ratio = devicePixelRatio;
  const [from, to] = [scales["x"]?.min ?? 0, scales["x"]?.max ?? 0];
  const lines = marks
    .filter(({ x }) => x >= from && x <= to)
    .map((mark) => ({ ...mark, at: Math.round(plot.valToPos(mark.x, "x", true)) }));
  const foot = bbox.top + bbox.height;
  drawLines(
    plot,
    [2, 4],
    lines.map(({ at, colour: name }) => [name, [at, bbox.top], [at, foot]]),
  );
  ctx.save();
  ctx.textAlign = "left";
  // Labels for which there is no room are left out until the plot is zoomed.
  const write = (label: string, name: string, places: (size: Size) => readonly Box[]): void => {
    const size = { width: ctx.measureText(label).width, height: LABEL_HEIGHT * ratio };
    const place = labels.take(places(size), bbox);
    ctx.fillStyle = colour(name);
    if (place !== null) drawLabel(ctx, label, place, ratio);
  };
  labels.clear();
  const drawn = levelsAt(plot, levels);
  const all = drawn.map(({ at }) => at);
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  for (const { at, label, colour: name } of drawn)
    write(label, name, (size) => placesAtLevel(at, size, bbox, all));
  ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
  for (const { at, label, colour: name } of lines)
    write(label, name, (size) => placesAtMark(at, size, bbox));
  ctx.restore();
}

type Size = Omit<Box, "left" | "top">;
type Point = readonly [x: number, y: number];

function levelsAt(plot: uPlot, levels: readonly ChartLevel[]) {
  const { min = 0, max = 0 } = plot.scales["y"] ?? {};
  return levels
    .filter(({ y }) => y >= min && y <= max)
    .map((level) => ({ ...level, at: Math.round(plot.valToPos(level.y, "y", true)) }));
}

function drawLines(
  { ctx }: uPlot,
  dash: readonly number[],
  lines: readonly (readonly [name: string, from: Point, to: Point])[],
): void {
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.lineWidth = ratio;
  ctx.setLineDash(dash.map((length) => length * ratio));
  for (const [name, from, to] of lines) {
    ctx.strokeStyle = colour(name);
    ctx.beginPath();
    ctx.moveTo(...from);
    ctx.lineTo(...to);
    ctx.stroke();
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

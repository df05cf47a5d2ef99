/** Exports a plot: the numbers as CSV, the picture as PNG. */
import { csvField } from "../core/text/csv.ts";
import type { ChartSpec } from "./chart-spec.ts";
import { csvOf, csvTimeHeads, csvTimes } from "./csv.ts";
import { h } from "./dom.ts";
import type { FallSpectrum } from "./series.ts";
import { colour } from "./theme.ts";

export function saveCsv(spec: ChartSpec): void {
  // The byte order mark tells spreadsheets that it is UTF-8.
  save(new Blob([`\ufeff${csvOf(spec)}`], { type: "text/csv" }), `${fileName(spec)}.csv`);
}

const MARGIN = 12;
const LINE = 18;
const FONT = "system-ui, sans-serif";

/** Adds the title above and the legend below, because the canvas contains neither. */
export function savePng(spec: ChartSpec, plot: HTMLCanvasElement): void {
  const ratio = devicePixelRatio;
  const canvas = document.createElement("canvas");
  canvas.width = plot.width + 2 * MARGIN * ratio;
  canvas.height = plot.height + (2 * MARGIN + 2 * LINE) * ratio;
  const ctx = canvas.getContext("2d");
  if (ctx === null) return;
  ctx.fillStyle = colour("card");
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.fillStyle = colour("ink");
  ctx.font = `600 ${13 * ratio}px ${FONT}`;
  const width = canvas.width - 2 * MARGIN * ratio;
  ctx.fillText(spec.summary, MARGIN * ratio, (MARGIN + 12) * ratio, width);
  ctx.drawImage(plot, MARGIN * ratio, (MARGIN + LINE) * ratio);
  let left = MARGIN * ratio;
  ctx.font = `${12 * ratio}px ${FONT}`;
  for (const { label, colour: name } of spec.series) {
    ctx.fillStyle = colour(name);
    ctx.fillRect(left, canvas.height - 20 * ratio, 22 * ratio, 3 * ratio);
    ctx.fillStyle = colour("ink");
    ctx.fillText(label, left + 27 * ratio, canvas.height - 14 * ratio);
    left += 42 * ratio + ctx.measureText(label).width;
  }
  canvas.toBlob((blob) => {
    if (blob !== null) save(blob, `${fileName(spec)}.png`);
  });
}

function fileName({ file, summary }: ChartSpec): string {
  const name = (file ?? summary).replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").replaceAll(/^-+|-+$/g, "");
  return name.slice(0, 100) || "plot";
}

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** @param rows with their steps in the unit of the axis */
export function saveWaterfallCsv(
  rows: readonly FallSpectrum[],
  axis: string,
  label: string,
  zone: string,
): void {
  const unit = axis === "orders" ? "Multiple of speed" : `Frequency (${axis})`;
  const heads = [...csvTimeHeads(zone), "Speed (rpm)", unit, `Amplitude (${label} peak)`];
  const lines = [`\ufeff${heads.map((head) => csvField(head)).join(",")}\r\n`];
  for (const { timeMs, speedRpm, step, values } of rows) {
    const times = csvTimes(timeMs, zone).join(",");
    for (const [k, value] of values.entries())
      lines.push(`${times},${speedRpm ?? ""},${k * step},${value}\r\n`);
  }
  save(new Blob(lines, { type: "text/csv" }), "waterfall.csv");
}

export function saveWaterfallPng(shown: HTMLCanvasElement): void {
  const canvas = document.createElement("canvas");
  canvas.width = shown.width;
  canvas.height = shown.height;
  const ctx = canvas.getContext("2d");
  if (ctx === null) return;
  ctx.fillStyle = colour("card");
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.drawImage(shown, 0, 0);
  canvas.toBlob((blob) => {
    if (blob !== null) save(blob, "waterfall.png");
  });
}

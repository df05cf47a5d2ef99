/** Exports a waterfall: the numbers as CSV, the picture as PNG. */

import { csvField } from "../core/csv.ts";
import { save } from "./chart-export.ts";
import { csvTimeHeads, csvTimes } from "./csv.ts";
import type { FallSpectrum } from "./series.ts";
import { colour } from "./theme.ts";

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

/** The ratio of a current transformer, or of turns through a clamp (plant section 24). */
import type { ChannelConfig } from "../../core/sensor.ts";

/** Both bounds are allowed; of a quotient too. */
export const RATIO_MIN = 0.001;
export const RATIO_MAX = 10_000;

/** How a ratio is written as text. */
export const QUOTIENT = /^(\d+(?:\.\d+)?)[:/](\d+(?:\.\d+)?)$/;

/** A number, or the first of two by the second: 400:5 is 80. NaN where that is no ratio. */
export function parseRatio(ratio: unknown): number {
  if (typeof ratio === "number") return ratio;
  const [, first, second] = (typeof ratio === "string" ? QUOTIENT.exec(ratio) : null) ?? [];
  return Number(second) === 0 ? Number.NaN : Number(first) / Number(second);
}

/** Of a channel; 1 where it has none. */
export function ratioOf({ ratio }: ChannelConfig): number {
  return ratio === undefined ? 1 : parseRatio(ratio);
}

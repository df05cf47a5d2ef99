/** Cursors of a spectrum: a single one with the distance to a pinned line, one with harmonics, one with sidebands. */
import type { ChartCursor, ChartMark } from "./chart-spec.ts";

export const CURSORS = [
  ["single", "single"],
  ["harmonic", "harmonics"],
  ["sideband", "side bands"],
] as const;
export type CursorKind = (typeof CURSORS)[number][0];

const HARMONICS = 10;
const SIDE_BANDS = 5;
const HELD = "series-4";
const COLOUR = "series-3";

/** @param words formats a frequency with its unit */
export function spectrumCursor(
  kind: CursorKind,
  words: (x: number) => string,
): (at: number, held: number | null) => ChartCursor {
  switch (kind) {
    case "single":
      return (at, held) => ({
        marks: held === null ? [] : [{ x: held, label: "cursor", colour: HELD }],
        words: held === null ? "" : `Δ ${words(Math.abs(at - held))} to ${words(held)}`,
      });
    case "harmonic":
      return (at, held) => {
        const base = held ?? at;
        const marks = Array.from(
          { length: HARMONICS },
          (_, i): ChartMark => ({ x: (i + 1) * base, label: `${i + 1}`, colour: COLOUR }),
        );
        return {
          marks: base > 0 ? marks : [],
          words: `harmonics of ${words(base)}${held === null || held <= 0 ? "" : `, here ${(at / held).toFixed(2)}`}`,
        };
      };
    case "sideband":
      return (at, held) => {
        if (held === null)
          return {
            marks: [],
            words: "Click or press Enter to pin the carrier, then move the cursor",
          };
        const spacing = Math.abs(at - held);
        const marks: ChartMark[] = [{ x: held, label: "carrier", colour: HELD }];
        for (let n = -SIDE_BANDS; n <= SIDE_BANDS; n++) {
          const x = held + n * spacing;
          if (n === 0 || spacing === 0 || x <= 0) continue;
          marks.push({ x, label: n > 0 ? `+${n}` : `−${-n}`, colour: COLOUR });
        }
        marks.sort((a, b) => a.x - b.x);
        return { marks, words: `side bands every ${words(spacing)} about ${words(held)}` };
      };
  }
}

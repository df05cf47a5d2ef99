/** What the lines of one fault explain: its harmonics and side bands, which are no evidence of another. */

import type { EvidenceLine } from "../../../core/diagnosis/finding.ts";
import type { ToneList } from "../../../pipeline/signal/tones.ts";
import { HARMONICS } from "./bearing-families.ts";
import type { BearingFault } from "./bearing-fault.ts";
import type { Look } from "./look.ts";

/** Harmonics and side bands of a series that are no evidence of another fault. */
const ECHO_HARMONICS = 6;
const ECHO_BANDS = 3;
/** The same of a cage, whose impacts have many harmonics. */
const CAGE_ECHOES = 24;

/** Impacts of one fault: what they repeat at, and whether they are the cage's own. */
export interface LineSeries {
  readonly hz: number;
  readonly isCage: boolean;
}

export function seriesOf(
  { finding, order }: BearingFault,
  lines: readonly EvidenceLine[],
): LineSeries {
  const [line] = lines;
  const hz = line === undefined ? 0 : line.hz / Math.max(1, Math.round(line.order / order));
  return { hz, isCage: finding === "cage" };
}

/**
 * Harmonics of a series, and its side bands at the shaft's and the cage's spacing.
 * @param list whose tones are lines, or bands of that half width, Hz: a line raises every band that reaches it
 */
export function explains(
  { shaftHz }: Pick<Look, "shaftHz">,
  { resolutionHz, bandHz = 0 }: Pick<ToneList, "resolutionHz"> & { readonly bandHz?: number },
  { hz: baseHz, isCage }: LineSeries,
  ftf: number | null,
  hz: number,
): boolean {
  const cageHz = (ftf ?? 0) * shaftHz;
  const isAt = (at: number, n: number) =>
    Math.abs(hz - at) < bandHz + (0.7 + 0.1 * n) * resolutionHz;
  if (isCage) {
    const n = Math.round(hz / baseHz);
    return n > 0 && n <= CAGE_ECHOES && isAt(n * baseHz, n / CAGE_ECHOES);
  }
  for (let n = 0; n <= ECHO_HARMONICS; n++) {
    if (n > 0 && isAt(n * baseHz, n)) return true;
    if (n > HARMONICS) continue;
    for (let m = 1; m <= ECHO_BANDS; m++) {
      for (const spacingHz of [shaftHz, cageHz]) {
        if (spacingHz <= 0) continue;
        if (isAt(n * baseHz + m * spacingHz, n) || isAt(n * baseHz - m * spacingHz, n)) return true;
      }
    }
  }
  return false;
}

/**
 * A race whose frequency the spectrum cannot tell from a whole order of the shaft (BPFO of a 6203 is 3.05x), and whose
 * harmonics it cannot either. Nothing on a shaft repeats three or more times in a turn without repeating once: where the
 * third, sixth and ninth order stand out and those between them do not, they are the race's. Blades and teeth of such a
 * number are the exception.
 */

import { suppliesOf } from "../../../core/bearing-orders.ts";
import type { EvidenceLine, FindingKind } from "../../../core/diagnosis/finding.ts";
import type { ToneList } from "../../../pipeline/signal/tones.ts";
import { type Look, toneNear } from "./look.ts";

/** Fewer strikes in a turn than this are those of a shaft with two poles, or of its 2x. */
const STRIKES_MIN = 3;
/** The second harmonic must stand out by this ratio to the noise, and so many of them must be seen. */
const SECOND_RATIO = 3.5;
const LINES_MIN = 3;
/** What the orders between may have of the line, at most; an inner race has side bands, and its load turns with the shaft. */
const BETWEEN_SHARE = 0.4;
const BANDED_SHARE = 0.8;
/** Orders by which side bands are apart from a line, and up to which the turning load has lines. */
const BANDS = 1;
const LOAD_ORDERS = 2;
const ORDER_LINES = 1;

/** @param lines of the fault in the spectrum `list`, the first of them on an order */
export function standsAlone(
  { shaftHz, shaftLines, machine }: Look,
  list: ToneList,
  { finding, order }: { readonly finding: FindingKind; readonly order: number },
  lines: readonly EvidenceLine[],
): boolean {
  const { blades, teeth = [] } = machine;
  const strikes = Math.round(order);
  const [first, second] = lines;
  const isRace = finding === "bearing_outer_race" || finding === "bearing_inner_race";
  if (!isRace || strikes < STRIKES_MIN || first === undefined || second === undefined) return false;
  if (lines.length < LINES_MIN || second.ratio < SECOND_RATIO) return false;
  if (Math.round(second.hz / first.hz) !== 2) return false;
  const wheels = [...(blades === undefined ? [] : [blades]), ...teeth];
  if (wheels.some((count) => count % strikes === 0 || strikes % count === 0)) return false;
  const reach = ORDER_LINES * list.resolutionHz;
  // Not on that order, but on what another and the supply make together.
  const error = Math.hypot(reach, shaftLines * strikes * list.resolutionHz);
  if (Math.abs(first.hz - strikes * shaftHz) > error) return false;
  if (suppliesOf(machine).some((of) => Math.abs(first.hz - 2 * of) < 2 * reach)) return false;
  const isBanded = finding === "bearing_inner_race";
  const firstTone = toneNear(list, first.hz, reach)?.amplitude ?? 0;
  for (let at = 1; at < LINES_MIN * strikes; at++) {
    const apart = Math.min(at % strikes, strikes - (at % strikes));
    if (apart === 0 || (isBanded && at <= LOAD_ORDERS)) continue;
    const share = isBanded && apart <= BANDS ? BANDED_SHARE : BETWEEN_SHARE;
    const between = toneNear(list, at * shaftHz, reach)?.amplitude ?? 0;
    if (between > share * firstTone) return false;
  }
  return true;
}

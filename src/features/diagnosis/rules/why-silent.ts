/** Why a part of a bearing, blades or teeth are not named: what is seen of their lines, and what damage would show. */

import { type FindingKind, findingKey } from "../../../core/diagnosis/finding.ts";
import { strongestIn } from "../../../pipeline/signal/tones.ts";
import { HARMONICS } from "./bearing-families.ts";
import type { BearingFault } from "./bearing-fault.ts";
import { isShaftOrder, slipHzOf } from "./bearing-on-order.ts";
import { CAGE_DEPTH_MIN, DEPTH_MIN } from "./bearing-sources.ts";
import { type AxisLook, type Look, rss, toneNear } from "./look.ts";
import type { Below } from "./process-rules.ts";
import { ENVELOPE_LEVEL } from "./reference.ts";
import type { Rest } from "./rest.ts";

/** From so many times the learned level of the envelope on, it says something by itself. */
const RISEN_TIMES = 10;

/** @param rest whose verdicts of the bearings are complete */
export function saySilence(look: Look, fault: BearingFault, bearing: string, rest: Rest): void {
  const { finding, name } = fault;
  if (look.isHeld(findingKey(finding, bearing))) return;
  const risen = envelopeRisen(look);
  if (risen !== null && !rest.verdicts.some((one) => one.bearing !== null)) {
    rest.cannotTell(finding, bearing, "envelope_risen", risen);
    return;
  }
  let seen: { readonly depth: number; readonly hz: number } | null = null;
  for (const axis of look.axes) {
    const found = seenIn(look, axis, fault);
    if (found !== null && found.depth >= (seen?.depth ?? 0)) seen = found;
  }
  if (seen === null) return;
  const depthLimit = finding === "cage" ? CAGE_DEPTH_MIN : DEPTH_MIN;
  const depth = Number(seen.depth.toPrecision(2));
  const from = `damage would be told from a depth of ${depthLimit} % of the whitened envelope`;
  const text =
    depth < depthLimit
      ? `${name}: ${from}; seen ${depth === 0 ? "none (0 %)" : `${depth} %`}.`
      : `${name}: ${from}; a line at ${seen.hz.toFixed(1)} Hz has ${depth} %, but too few harmonics or side bands of its own.`;
  const reason = depth < depthLimit ? "below_depth" : "ambiguous";
  rest.cannotTell(finding, bearing, reason, text, { depth, depthLimit });
}

/** The strongest line where the fault has its first, with its harmonics; null without a whitened envelope. */
function seenIn(look: Look, { white }: AxisLook, fault: BearingFault) {
  if (white === null) return null;
  const { resolutionHz } = white;
  const nominalHz = fault.order * look.shaftHz;
  const reach = slipHzOf(look, fault) + resolutionHz / 2;
  const where = { spectrum: "whitened envelope", list: white } as const;
  const isShafts = (hz: number) => isShaftOrder(look, where, hz);
  const first = strongestIn(white, nominalHz - reach, nominalHz + reach, isShafts);
  if (first === null) return { depth: 0, hz: nominalHz };
  const amplitudes = Array.from({ length: HARMONICS }, (_, i) => {
    const tone = toneNear(white, (i + 1) * first.hz, (0.5 + 0.2 * (i + 1)) * resolutionHz);
    return tone === null || (i > 0 && isShafts(tone.hz)) ? 0 : tone.amplitude;
  });
  return { depth: (100 * rss(amplitudes)) / Math.SQRT2, hz: first.hz };
}

/** A sentence where the envelope rose far above what was learned; null otherwise, and where nothing was. */
function envelopeRisen(look: Look): string | null {
  for (const { channel, envelopeRms } of look.axes) {
    const normal = look.normalOf(channel, ENVELOPE_LEVEL) ?? 0;
    if (normal <= 0 || envelopeRms === null || envelopeRms < RISEN_TIMES * normal) continue;
    const times = Math.round(envelopeRms / normal);
    return `The envelope's level is ${times} times the learned one (${envelopeRms.toPrecision(2)} GE, learned up to ${normal.toPrecision(2)}), without lines of a part: a bearing or its lubrication, part unknown.`;
  }
  return null;
}

/** A line of blades or teeth that rose and is still too weak to be told. */
export function sayBelowLevel(finding: FindingKind, below: Below, rest: Rest): void {
  const { line, level, limit, normal, normalBands } = below;
  const { axis, name, amplitude, hz, sideBands } = line;
  const rms = (value: number) => Number(value.toPrecision(2));
  const bands = rss(sideBands.map((band) => band.amplitude));
  const rise = normalBands > 0 ? `, its side bands at ${rms(bands)} (${rms(normalBands)})` : "";
  const text = `${name} at ${hz.toFixed(1)} Hz (axis ${axis}) stands at ${rms(amplitude)} mm/s RMS (learned up to ${rms(normal)})${rise}: damage would be told from ${rms(limit)} mm/s with harmonics; seen ${rms(level)}.`;
  const numbers = { level: rms(level), levelLimit: rms(limit) };
  rest.cannotTell(finding, null, "below_level", text, numbers);
}

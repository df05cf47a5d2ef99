/** The faults of the shaft in one reading, and which of them its lines cannot be told from. */

import { suppliesOf } from "../../../core/bearing-orders.ts";
import type { EvidenceLine, FindingKind } from "../../../core/diagnosis/finding.ts";
import { isLearned, type Look } from "./look.ts";
import { isManyAbove, isSecondAlone, looseBase, looseness, secondRise } from "./looseness-rules.ts";
import { APART_LINES, type Rest, speedDoubt } from "./rest.ts";
import {
  hasSecond,
  isAxialFirst,
  isDominant,
  isOfLobes,
  misalignment,
  mostRisen,
  unbalance,
} from "./shaft-rules.ts";

const SHAFT_FINDINGS = ["unbalance", "misalignment", "looseness"] as const;

const HIDDEN =
  "1x rose by far the most, which is an unbalance; its harmonics rose too, so a looseness or misalignment beside it cannot be excluded.";

const ONE_LINE =
  "Many orders rose, one of them most: a looseness, or an unbalance whose harmonic meets a resonance.";

/** @param hasPlay an advanced bearing fault: the shaft's own lines may be caused by its play */
export function shaftFaults(look: Look, rest: Rest, hasPlay: boolean): void {
  const { lineHz, blades, teeth = [] } = look.machine;
  const resolutionHz = look.axes[0]?.accel.resolutionHz ?? 0;
  const isNear = (hz: number, to: number) => Math.abs(hz - to) < APART_LINES * resolutionHz;
  const mainsNear = (hz: number) =>
    suppliesOf(look.machine).find((of) => isNear(hz, 2 * of)) ?? null;
  const isMains = (hz: number) => mainsNear(hz) !== null;
  const isOwn = (hz: number) =>
    isMains(hz) ||
    [...(blades === undefined ? [] : [blades, 2 * blades]), ...teeth].some((order) =>
      isNear(hz, order * look.shaftHz),
    );
  const doubt = speedDoubt(look);
  if (doubt !== null) {
    for (const finding of SHAFT_FINDINGS) rest.cannotTell(finding, null, "speed_doubtful", doubt);
    return;
  }
  let isEither = false;
  let isPaired = false;
  let isSpread = false;
  let isOneLine = false;
  if (hasPlay) {
    const text = "A damaged bearing has play, which may cause 1x and its harmonics.";
    rest.cannotTell("unbalance", null, "bearing_play", text);
    rest.cannotTell("looseness", null, "bearing_play", text);
  } else {
    const first = unbalance(look);
    isPaired = first === "either";
    rest.record("unbalance", first === "either" ? null : first);
    const base = looseBase(look, isOwn);
    isEither = base === "either";
    const loose = base === null || base === "either" ? looseness(look, isOwn) : base;
    isSpread = loose === "either";
    rest.record("looseness", typeof loose === "string" ? null : loose);
    isOneLine = loose === "one line";
    const isEitherOf = isOneLine && !look.isHeld("unbalance") && !isDominant(look);
    if (isOneLine)
      rest.ambiguous(look, isEitherOf ? ["unbalance", "looseness"] : ["looseness"], ONE_LINE);
  }
  const isNamed = (finding: FindingKind) => rest.has(finding) || look.isHeld(finding);
  // It is named first, and what it hides is said.
  const isFirst = rest.has("unbalance") && isDominant(look);
  const sayHidden = (finding: FindingKind) => {
    if (isFirst && rest.has(finding) && !look.isHeld(finding))
      rest.ambiguous(look, [finding], HIDDEN);
  };
  sayHidden("looseness");
  const isLoose = isNamed("looseness");
  const supplyHz = mainsNear(2 * look.shaftHz);
  if (supplyHz !== null) {
    const mains =
      lineHz === undefined
        ? `that of mains at ${supplyHz} Hz (the machine has no \`lineHz\`)`
        : "twice the mains frequency";
    const text = `Twice the shaft frequency (${(2 * look.shaftHz).toFixed(2)} Hz) and ${mains} are closer than ${APART_LINES} lines of ${resolutionHz.toFixed(2)} Hz.`;
    rest.cannotTell("misalignment", null, "resolution_coarse", text);
    // A loose base is told by 2x; a loose part has many other orders.
    if (!isLoose && (rest.has("unbalance") || secondRise(look) !== null))
      rest.withdraw("looseness", "resolution_coarse", text);
  } else if (look.machine.blades === 2 && !look.isHeld("misalignment")) {
    const text = "2x is the blade pass of two blades, so it is not evidence of misalignment.";
    rest.cannotTell("misalignment", null, "ambiguous", text);
  } else {
    rest.record("misalignment", misalignment(look));
    sayHidden("misalignment");
    if (!isLoose && rest.has("misalignment") && isManyAbove(look, isOwn)) {
      const text =
        "2x rose, and several orders above those of a misalignment: it may be a looseness.";
      rest.ambiguous(look, ["misalignment"], text);
    }
    if (isLoose) {
      const text =
        "Looseness causes 2x along with other harmonics, so 2x is not evidence of misalignment.";
      rest.speaksAgainst(look, "misalignment", "looseness_present", text);
    } else if (look.fullRpm("looseness") !== null) {
      // Its many orders are weak at first, and come and go: what is left between is 2x alone.
      const text =
        "Some of the last readings showed a looseness, which causes 2x along with other harmonics.";
      rest.ambiguous(look, ["misalignment"], text);
    }
  }
  const told = rest.cannot.length;
  if (isEither && !look.isHeld("misalignment") && !look.isHeld("looseness")) {
    rest.ambiguous(
      look,
      ["misalignment", "looseness"],
      "2x stands out across the shaft, and hardly along it: a misalignment or a loose base.",
    );
  }
  if ((isLoose || isNamed("misalignment")) && !look.isHeld("unbalance")) {
    const cause = isLoose ? "Looseness" : "Misalignment";
    const text = `${cause} causes 1x along with its harmonics, so 1x is not evidence of an unbalance.`;
    rest.ambiguous(look, ["unbalance"], text);
  }
  if (isNamed("misalignment") && !isLoose && isSecondAlone(look, isOwn)) {
    const text =
      "2x rose, and no order above it: if the axes are not those of the site file, a loose base looks like this misalignment.";
    rest.ambiguous(look, ["looseness"], text);
  }
  if (isPaired && !isEither && !SHAFT_FINDINGS.some(isNamed)) {
    const text =
      "1x rose, and 2x with it: an unbalance, a misalignment, or an unbalance on a loose base.";
    rest.ambiguous(look, SHAFT_FINDINGS, text);
  }
  if (isSpread && !isLoose && SHAFT_FINDINGS.some(isNamed)) {
    const text =
      "Many orders rose, but 1x or 2x by far more: weak harmonics, or a looseness whose 1x or 2x the structure amplifies.";
    rest.ambiguous(look, ["looseness"], text);
  }
  if (isNamed("unbalance") && hasSecond(look) && !isNamed("misalignment") && !isLoose) {
    const text =
      "2x rose beside the 1x of the unbalance: there may be a misalignment or a loose base, alone or with it.";
    rest.ambiguous(look, ["misalignment", "looseness"], text);
  }
  if (isAxialFirst(look) && !rest.verdicts.some(({ finding }) => isOfShaft(finding))) {
    rest.ambiguous(
      look,
      ["unbalance", "misalignment"],
      "1x rose along the shaft, but hardly across it, and without 2x: a bent shaft or an angular misalignment, unless the site file exchanges the axes.",
    );
  }
  const isExplained =
    hasPlay || isOneLine || rest.cannot.length > told || SHAFT_FINDINGS.some(isNamed);
  if (!isExplained) unplaced(look, rest, isOwn);
}

/** Lines that a sentence names beside the strongest. */
const BESIDE_MAX = 2;

/** Lines of the shaft that rose as far as those of a fault, and fit none: that must not pass without a word. */
function unplaced(look: Look, rest: Rest, isOwn: (hz: number) => boolean): void {
  const lines = mostRisen(look);
  const [line, ...others] = lines;
  if (
    line === undefined ||
    lines.every(({ order }) => isOwn((Math.round(2 * order) / 2) * look.shaftHz))
  )
    return;
  const where = look.hasAxes ? `axis ${line.axis}` : `channel ${line.channel}`;
  const amount = ({ name, amplitude }: EvidenceLine) => `${name} ${amplitude.toPrecision(2)}`;
  const beside = others.slice(0, BESIDE_MAX).map(amount);
  const more = beside.length === 0 ? "" : ` (beside it ${beside.join(", ")})`;
  const what = `${line.name} ${isLearned(look) ? "rose to" : "stands at"} ${line.amplitude.toPrecision(2)} mm/s RMS in ${where}${more}`;
  const text = `${what}, but directions and orders together fit no fault of the shaft. ${adviceOn(look, line)}`;
  rest.ambiguous(look, SHAFT_FINDINGS, text);
}

function adviceOn(look: Look, line: EvidenceLine): string {
  if (isOfLobes(look, line)) {
    const count = Math.round(line.order);
    return `With ${2 * count}x it is what blades, lobes or teeth show that pass ${count} times in a turn: state them in the site file (\`blades\`, \`teeth\`).`;
  }
  const check = look.hasAxes
    ? "Check that the site file states the axes as the sensor is mounted."
    : "State the axes in the site file: directions tell faults apart.";
  return isLearned(look)
    ? `${check} A sensor mounted otherwise than when it was learned looks so too.`
    : check;
}

const isOfShaft = (finding: string) => SHAFT_FINDINGS.some((one) => one === finding);

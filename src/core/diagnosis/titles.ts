/** Each finding in a few words, and what to do about it: the one table for pages and reports. */
import type { FindingKind, Stage } from "./finding.ts";

interface FindingWords {
  readonly title: string;
  /** From stage 2 on. */
  readonly action: string;
}

const WORDS: Readonly<Record<FindingKind, FindingWords>> = {
  unbalance: { title: "Unbalance", action: "Clean the rotor, check it for loss, and balance it." },
  misalignment: { title: "Misalignment", action: "Check the coupling, and align the shafts." },
  looseness: { title: "Looseness", action: "Tighten feet and bearing caps; check the foundation." },
  bearing_outer_race: {
    title: "Outer-race damage",
    action: "Order the bearing and plan its change.",
  },
  bearing_inner_race: {
    title: "Inner-race damage",
    action: "Order the bearing and plan its change.",
  },
  rolling_element: {
    title: "Rolling-element damage",
    action: "Order the bearing and plan its change.",
  },
  cage: { title: "Cage damage", action: "Order the bearing; a cage may fail suddenly." },
  blade_pass: {
    title: "Blade-pass vibration",
    action: "Check blades, flow and distance to the casing.",
  },
  gear_mesh: {
    title: "Gear damage",
    action: "Check oil and teeth; compare with the last inspection.",
  },
  electrical: {
    title: "Electrical fault",
    action: "Check the air gap, the rotor bars and the supply.",
  },
};
/** A line that nothing explains is no finding. */
export const UNEXPLAINED_WORDS: FindingWords = {
  title: "Unexplained line",
  action: "Find what turns at its frequency, and state it in the site file.",
};
const EARLY = "Watch it: compare its spectra in a week.";
const SEVERE = "Act now: ";

/** `Outer-race damage, bearing 6205, NDE, stage 3`. @param point where it stands, by name */
export function findingTitle(
  finding: FindingKind,
  bearing: string | null,
  point: string | null,
  stage: Stage,
): string {
  const parts = [
    WORDS[finding].title,
    bearing === null ? "" : `bearing ${bearing.replace(/^bearing /i, "")}`,
    point ?? "",
    `stage ${stage}`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

export const findingName = (finding: FindingKind): string => WORDS[finding].title;

export function findingAction(finding: FindingKind, stage: Stage): string {
  const { action } = WORDS[finding];
  if (stage === 1) return EARLY;
  return stage === 3 ? `${SEVERE}${action.charAt(0).toLowerCase()}${action.slice(1)}` : action;
}

/** Of a machine in zone C or D. */
export const ZONE_ACTIONS: Readonly<Record<string, string>> = {
  C: "Plan a repair.",
  D: "Act now: this can cause damage.",
};

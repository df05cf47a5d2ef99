/** Worst first (plant section 20). */
import type { MachineCondition } from "./condition.ts";
import { CONDITIONS } from "./words.ts";

export interface Ranked
  extends Pick<MachineCondition, "condition" | "isAcknowledged" | "stage" | "zone" | "since"> {
  /** As shown. */
  readonly label: string;
}

const NAMES = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** State, unacknowledged before acknowledged, stage, zone, longest since, name in natural order. */
export function worseFirst(a: Ranked, b: Ranked): number {
  return (
    CONDITIONS.indexOf(a.condition) - CONDITIONS.indexOf(b.condition) ||
    Number(a.isAcknowledged) - Number(b.isAcknowledged) ||
    (b.stage ?? 0) - (a.stage ?? 0) ||
    zoneRank(b.zone) - zoneRank(a.zone) ||
    longest(a, b) ||
    NAMES.compare(a.label, b.label)
  );
}

const zoneRank = (zone: string | null) => (zone === null ? 0 : zone.charCodeAt(0));

/** What has no beginning comes last. */
function longest(a: Ranked, b: Ranked): number {
  const [left, right] = [a.since?.timeMs ?? Infinity, b.since?.timeMs ?? Infinity];
  return left === right ? 0 : left - right;
}

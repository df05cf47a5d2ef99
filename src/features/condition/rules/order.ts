/** Worst first (plant section 20). */

import { CONDITIONS } from "../../../core/condition/words.ts";
import type { MachineCondition } from "./condition.ts";

export interface Ranked
  extends Pick<
    MachineCondition,
    "condition" | "isAcknowledged" | "stage" | "zone" | "outlookMs" | "since"
  > {
  /** As shown. */
  readonly label: string;
}

const NAMES = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** State, unacknowledged before acknowledged, stage, zone, earliest outlook, longest since, name in natural order. */
export function worseFirst(a: Ranked, b: Ranked): number {
  return (
    CONDITIONS.indexOf(a.condition) - CONDITIONS.indexOf(b.condition) ||
    Number(a.isAcknowledged) - Number(b.isAcknowledged) ||
    (b.stage ?? 0) - (a.stage ?? 0) ||
    zoneRank(b.zone) - zoneRank(a.zone) ||
    earlier(a.outlookMs, b.outlookMs) ||
    earlier(a.since?.timeMs ?? null, b.since?.timeMs ?? null) ||
    NAMES.compare(a.label, b.label)
  );
}

const zoneRank = (zone: MachineCondition["zone"]) => (zone === null ? 0 : zone.charCodeAt(0));

/** What has no time comes last. */
function earlier(a: number | null, b: number | null): number {
  const [left, right] = [a ?? Infinity, b ?? Infinity];
  return left === right ? 0 : left - right;
}

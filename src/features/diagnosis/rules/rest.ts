/** What the rules say of one reading, as they say it, and the reasons that several of them give. */
import {
  type Cannot,
  type CannotReason,
  type FindingKind,
  findingKey,
  type Judgement,
  type Verdict,
} from "../../../core/diagnosis/finding.ts";
import type { Look } from "./look.ts";

/** A frequency and the nearest multiple of the shaft's must be this many lines apart. */
export const APART_LINES = 1.5;

/** Collects the results of the rules. */
export class Rest implements Judgement {
  readonly verdicts: Verdict[] = [];
  readonly cannot: Cannot[] = [];
  readonly judged: string[] = [];

  record(finding: FindingKind, verdict: Verdict | null): void {
    this.judged.push(findingKey(finding, null));
    if (verdict !== null) this.verdicts.push(verdict);
  }

  /** Lines that several faults may have: none of them is named, and what is no finding yet is interrupted. */
  ambiguous(look: Look, findings: readonly FindingKind[], text: string): void {
    for (const finding of findings) this.speaksAgainst(look, finding, "ambiguous", text);
  }

  /** Something else is seen that has these lines too: a row of readings that show the fault does not go on. */
  speaksAgainst(look: Look, finding: FindingKind, reason: CannotReason, text: string): void {
    const key = findingKey(finding, null);
    if (!this.judged.includes(key)) return;
    this.withdraw(finding, reason, text);
    if (!look.isHeld(key)) this.judged.push(key);
  }

  /** What was judged turns out not to be told. */
  withdraw(finding: FindingKind, reason: CannotReason, text: string): void {
    const at = this.judged.indexOf(findingKey(finding, null));
    if (at < 0) return;
    this.judged.splice(at, 1);
    const said = this.verdicts.findIndex((verdict) => verdict.finding === finding);
    if (said >= 0) this.verdicts.splice(said, 1);
    this.cannotTell(finding, null, reason, text);
  }

  has(finding: FindingKind): boolean {
    return this.verdicts.some((verdict) => verdict.finding === finding);
  }

  cannotTell(
    finding: FindingKind,
    bearing: string | null,
    reason: CannotReason,
    text: string,
    more: Pick<Cannot, "depth" | "depthLimit" | "level" | "levelLimit"> = {},
  ): void {
    this.cannot.push({ finding, bearing, reason, text, ...more });
  }
}

/** Why the measured speed may be wrong; null: nothing speaks against it. */
export function speedDoubt({ measuredHz, besideHz, isBesideDouble }: Look): string | null {
  if (besideHz === null) return null;
  const rpm = (hz: number) => Math.round(60 * hz);
  return `No line stands at the measured speed of ${rpm(measuredHz)} r/min, but one at ${isBesideDouble ? "twice " : ""}${rpm(besideHz)} r/min: the speed is not that of this record, or the line is another machine's.`;
}

export const beyond = (what: string, hz: number, topHz: number) =>
  `${what} at ${hz.toFixed(0)} Hz is above ${topHz.toFixed(0)} Hz, the limit of this sample rate.`;
export const coarse = (what: string, hz: number) =>
  `Lines of ${hz.toFixed(2)} Hz are too coarse for ${what}: a longer record or a faster shaft is needed.`;

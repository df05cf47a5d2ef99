/**
 * What several of the last readings showed or said, and the newest one alone does not: only the newest reading's result is
 * shown, and lines come and go. Not kept on disk.
 */
import {
  type Cannot,
  type CannotReason,
  type FindingKind,
  findingKey,
  type Judgement,
  type Said,
} from "../../../core/diagnosis/finding.ts";
import { type FindingState, oftenOf, type SensorFindings, timesIn } from "./sensor-findings.ts";
import { evidence } from "./sentence.ts";

/** So many of the last readings must have shown or said it. */
const TIMES_MIN = 2;
const READINGS = 8;
/** Reasons that a machine gives by what its reading shows; the others are those of its speed, or of how it is measured. */
const LASTING: ReadonlySet<CannotReason> = new Set([
  "ambiguous",
  "below_level",
  "speed_doubtful",
  "overloaded",
]);

/** @param after that reading, with what it alone says */
export function withLately(
  before: SensorFindings,
  after: SensorFindings,
  { cannot, verdicts, isShaftSeen }: Judgement,
): SensorFindings {
  if (after.seen === null) return after;
  // A reading that was refused says nothing of the machine, unless by that.
  if (cannot.some(({ finding, reason }) => finding === null && !LASTING.has(reason)))
    return before.said === undefined ? after : { ...after, said: before.said };
  const said = remember(before.said, cannot);
  if (cannot.some(({ finding }) => finding === null)) return { ...after, said };
  const told = new Set(cannot.filter((one) => !isFaint(one)).map(keyOf));
  const seldom = [...after.states]
    .filter(([key, { stands }]) => stands === null && !told.has(key))
    .flatMap(([, state]) => seldomSeen(state) ?? []);
  for (const one of seldom) told.add(keyOf(one));
  for (const one of verdicts) told.add(findingKey(one.finding, one.bearing));
  for (const [key, { stands }] of after.states) if (stands !== null) told.add(key);
  const still = [...said.values()].flatMap(({ cannot: one, recent }): Cannot[] => {
    const times = timesIn(recent);
    // A line that fits the measured speed answers what earlier readings doubted.
    const isAnswered = one.reason === "speed_doubtful" && isShaftSeen === true;
    const isSaid = cannot.some((now) => now.reason === one.reason && keyOf(now) === keyOf(one));
    if (times < TIMES_MIN || told.has(keyOf(one)) || isAnswered || isSaid) return [];
    return [{ ...one, text: `${times} of the last ${READINGS} readings say: ${one.text}` }];
  });
  const better = new Set([...seldom, ...still].map(keyOf));
  const now = cannot.filter((one) => !isFaint(one) || !better.has(keyOf(one)));
  const seen = { ...after.seen, cannot: [...now, ...seldom, ...still] };
  return { ...after, said, seen };
}

/** That a line is too weak answers nothing that the last readings said. */
const isFaint = ({ reason }: Cannot) => reason === "below_depth" || reason === "below_level";

function remember(before: SensorFindings["said"], cannot: readonly Cannot[]): Map<string, Said> {
  const said = new Map<string, Said>();
  for (const [key, one] of before ?? []) {
    const recent = (one.recent << 1) & ((1 << READINGS) - 1);
    if (recent > 0) said.set(key, { ...one, recent });
  }
  for (const one of cannot) {
    if (!LASTING.has(one.reason)) continue;
    const key = `${one.reason} ${keyOf(one)}`;
    said.set(key, { cannot: one, recent: (said.get(key)?.recent ?? 0) | 1 });
  }
  return said;
}

const keyOf = ({ finding, bearing }: { finding: FindingKind | null; bearing: string | null }) =>
  finding === null ? "" : findingKey(finding, bearing);

/** A fault that some of the last readings showed: too few for a finding, too many to pass without a word. */
function seldomSeen({ finding, bearing, recent = 0, last }: FindingState): Cannot | null {
  const times = timesIn(recent);
  if (times < TIMES_MIN) return null;
  const { readings, of } = oftenOf(finding);
  const { level, unit, lines } = last.verdict;
  const text = `${times} of the last ${of} readings show it, the newest of them by ${evidence(lines)}, together ${level.toPrecision(3)} ${unit} RMS. ${readings} are a finding.`;
  return { finding, bearing, reason: "seldom_seen", text };
}

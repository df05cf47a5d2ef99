/** Record checks, their flags, and the quality of each group of values (signal-definitions 2). */
import { namesOf } from "../../core/lists/by-name.ts";
import type { Doubt, Reason } from "../../core/quality.ts";
import { type AxisOptions, type Bands, bandsOf, USABLE_RATE } from "./bands.ts";
import {
  countStep,
  FULL_SCALE_COUNTS,
  flatTopCount,
  hasLostSamples,
  hasWrapped,
} from "./damage.ts";
import { type CountFacts, countFacts } from "./statistics.ts";

export type Group = "accel" | "velocity" | "displacement" | "envelope";

type Effects = Readonly<Partial<Record<Group, "uncertain" | "bad">>>;

const ALL_UNCERTAIN = {
  accel: "uncertain",
  velocity: "uncertain",
  displacement: "uncertain",
  envelope: "uncertain",
} as const satisfies Effects;
const ALL_BAD: Effects = { accel: "bad", velocity: "bad", displacement: "bad", envelope: "bad" };

/** In the order of the table: among flags of the worst quality, the first gives the reason. */
const FLAG_TABLE = {
  CONFIG_INVALID: { reason: "no_calibration", effects: ALL_BAD },
  NO_DATA: { reason: "missing", effects: ALL_BAD },
  RECORD_TOO_SHORT: { reason: "too_short", effects: ALL_BAD },
  FLATLINE: { reason: "flatline", effects: ALL_BAD },
  SAMPLES_LOST: { reason: "samples_lost", effects: ALL_UNCERTAIN },
  JUMP: { reason: "jump", effects: ALL_UNCERTAIN },
  CLIPPED: { reason: "clipped", effects: ALL_UNCERTAIN },
  WRAPPED: { reason: "wrapped", effects: ALL_UNCERTAIN },
  RECORD_SHORT: {
    reason: "too_short",
    effects: { accel: "uncertain", velocity: "bad", displacement: "bad", envelope: "bad" },
  },
  BAND_UNUSABLE: { reason: "too_short", effects: { velocity: "bad", displacement: "bad" } },
  BAND_LOW_UNRESOLVED: {
    reason: "too_short",
    effects: { velocity: "uncertain", displacement: "uncertain" },
  },
  BAND_HIGH_TRUNCATED: { reason: "sample_rate_low", effects: { velocity: "uncertain" } },
  ENVELOPE_UNAVAILABLE: { reason: "sample_rate_low", effects: { envelope: "bad" } },
  ENVELOPE_BAND_REDUCED: { reason: "sample_rate_low", effects: { envelope: "uncertain" } },
} as const satisfies Record<string, { reason: Reason; effects: Effects }>;

export type SignalFlag = keyof typeof FLAG_TABLE;

const SIGNAL_FLAGS = namesOf(FLAG_TABLE);

export interface RecordChecks {
  /** In table order. */
  readonly flags: readonly SignalFlag[];
  /** Null is good. */
  readonly doubts: Readonly<Record<Group, Doubt | null>>;
  /** Null if CONFIG_INVALID prevented examining the counts. */
  readonly facts: CountFacts | null;
  /** Null for records on which nothing is calculated. */
  readonly bands: Bands | null;
  /** See countStep; 0 where damage inside the record is not looked for. */
  readonly step: number;
}

const SIZE_MIN = 16;
const SIZE_FULL = 256;
const ENV_FULL_BAND_HZ = 2500;
const ENV_STANDARD_LO_HZ = 500;
/** Rates are compared with this relative tolerance. */
const GUARD = 1e-9;

const isLess = (a: number, b: number) => a < b - Math.abs(b) * GUARD;
export const isGreater = (a: number, b: number) => a > b + Math.abs(b) * GUARD;
const isPositive = (x: number) => Number.isFinite(x) && x > 0;

export function checkRecord(samples: Int16Array, options: AxisOptions): RecordChecks {
  if (!isPositive(options.sampleRateHz) || !isPositive(options.calibration)) {
    return graded(["CONFIG_INVALID"], null, null);
  }
  const fullScaleCounts = Math.min(FULL_SCALE_COUNTS, options.fullScaleCounts ?? FULL_SCALE_COUNTS);
  const facts = countFacts(samples, fullScaleCounts);
  const size = samples.length;
  if (size === 0) return graded(["NO_DATA"], facts, null);
  if (size < SIZE_MIN) return graded(["RECORD_TOO_SHORT"], facts, null);
  const flags: SignalFlag[] = [];
  const isFlat = facts.max === facts.min;
  if (isFlat) flags.push("FLATLINE");
  if (isFlat || size < SIZE_FULL) {
    if (facts.clipCount > 0) flags.push("CLIPPED");
    if (isFlat) return graded(flags, facts, null);
    flags.push("RECORD_SHORT");
    return graded(flags, facts, bandsOf(size, options));
  }
  const step = countStep(samples);
  const clipCount = Math.max(facts.clipCount, flatTopCount(samples, facts, step));
  if (hasLostSamples(samples, facts, step)) flags.push("SAMPLES_LOST");
  if (clipCount > 0) flags.push("CLIPPED");
  else if (hasWrapped(samples, facts, fullScaleCounts)) flags.push("WRAPPED");
  const bands = bandsOf(size, options);
  flags.push(...bandFlags(size, options.sampleRateHz, bands));
  return { ...graded(flags, { ...facts, clipCount }, bands), step };
}

/** With JUMP in its place: known only with the velocity. */
export function withJump({ flags, facts, bands }: RecordChecks): RecordChecks {
  return graded(
    SIGNAL_FLAGS.filter((flag) => flag === "JUMP" || flags.includes(flag)),
    facts,
    bands,
  );
}

function bandFlags(size: number, sampleRateHz: number, bands: Bands): SignalFlag[] {
  const flags: SignalFlag[] = [];
  const step = sampleRateHz / size;
  if (isGreater(step, 3 * bands.fLoHz) || bands.lineMin > bands.lineMax) {
    flags.push("BAND_UNUSABLE");
  } else {
    if (isGreater(step, bands.fLoHz / 2)) flags.push("BAND_LOW_UNRESOLVED");
    if (isLess(sampleRateHz / USABLE_RATE, bands.fHiHz)) flags.push("BAND_HIGH_TRUNCATED");
  }
  // A record too coarse for a single line of the envelope has no envelope either: never a silent zero.
  const hasNoLine = bands.envLines < 1 || bands.envLineMin > bands.envLineMax;
  if (isLess(bands.envTopHz, 2 * bands.envLoHz) || hasNoLine) flags.push("ENVELOPE_UNAVAILABLE");
  else if (isLess(bands.envTopHz, ENV_FULL_BAND_HZ) && !isLess(bands.envLoHz, ENV_STANDARD_LO_HZ)) {
    flags.push("ENVELOPE_BAND_REDUCED");
  }
  return flags;
}

function graded(
  flags: readonly SignalFlag[],
  facts: CountFacts | null,
  bands: Bands | null,
): RecordChecks {
  const doubts = {
    accel: doubtOf(flags, "accel"),
    velocity: doubtOf(flags, "velocity"),
    displacement: doubtOf(flags, "displacement"),
    envelope: doubtOf(flags, "envelope"),
  };
  return { flags, doubts, facts, bands, step: 0 };
}

/** The worst effect takes precedence; among equal ones the first in table order. */
export function doubtOf(flags: readonly SignalFlag[], group: Group): Doubt | null {
  let doubt: Doubt | null = null;
  for (const flag of flags) {
    const { reason, effects }: { reason: Reason; effects: Effects } = FLAG_TABLE[flag];
    const quality = effects[group];
    if (quality === undefined) continue;
    if (doubt === null || (quality === "bad" && doubt.quality !== "bad")) {
      doubt = { quality, reason };
    }
  }
  return doubt;
}

/** Short sequences that a poller of 0.3 failed, by what went wrong. */
import type { PollSequence } from "./steps.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const PLAIN: PollSequence = {
  zone: "UTC",
  startMs: Date.parse("2026-11-20T12:00:00Z"),
  wrongMs: 0,
  hasDate: false,
  backfillDays: 0,
  intervalMs: MINUTE,
  concurrency: 2,
  salt: 1,
  first: null,
  steps: [],
};

export const EXAMPLES: readonly (readonly [what: string, sequence: PollSequence])[] = [
  [
    "a backfill that joins the first read, which shows another day",
    {
      ...PLAIN,
      wrongMs: 3 * DAY,
      hasDate: true,
      first: { isWanted: false, sensor: null, daysAgo: 0, isBefore: false },
    },
  ],
  [
    "records that are wanted while their day is read",
    {
      ...PLAIN,
      first: { isWanted: true, sensor: "1", daysAgo: 0, isBefore: false },
      steps: [{ do: "pass", ms: MINUTE }],
    },
  ],
  [
    "a day that is requested before the first turn, and whose read fails",
    {
      ...PLAIN,
      first: { isWanted: false, sensor: "1", daysAgo: 0, isBefore: true },
      steps: [
        { do: "failing", which: "all" },
        { do: "pass", ms: 8 * MINUTE },
        { do: "failing", which: "none" },
        { do: "pass", ms: 30 * MINUTE },
      ],
    },
  ],
  [
    "a day that a clock three days ahead had closed",
    {
      ...PLAIN,
      wrongMs: 3 * DAY,
      backfillDays: 7,
      steps: [
        { do: "pass", ms: 8 * MINUTE },
        { do: "box", byMs: null },
        { do: "pass", ms: 30 * MINUTE },
      ],
    },
  ],
  [
    "records in pairs a millisecond apart",
    {
      ...PLAIN,
      steps: [
        {
          do: "records",
          sensor: "1",
          pattern: { periodMs: 37_000, size: 2, apartMs: 1, lagMs: 0 },
        },
        { do: "pass", ms: 30 * MINUTE },
      ],
    },
  ],
];

/** What can happen to a poller, its gateway and their clocks, as plain data. */
import fc from "fast-check";

export const SENSORS = ["1", "2", "3"] as const;
type SensorCode = (typeof SENSORS)[number];
/** With changes at other hours and dates, by half an hour too, and one where midnight may be left out. */
const ZONES = [
  "UTC",
  "Europe/Berlin",
  "Pacific/Auckland",
  "America/St_Johns",
  "America/Santiago",
] as const;
type Zone = (typeof ZONES)[number];

const S = 1_000;
const MINUTE = 60 * S;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How a sensor's records come: so many each period, this far apart, visible after the lag, ms. */
export interface Pattern {
  readonly periodMs: number;
  readonly size: number;
  readonly apartMs: number;
  readonly lagMs: number;
}

export interface Request {
  readonly isWanted: boolean;
  /** Null: of all sensors. */
  readonly sensor: SensorCode | null;
  readonly daysAgo: number;
}

/** A request at the start: before the poller runs, or while its first read is under way. */
export interface FirstRequest extends Request {
  readonly isBefore: boolean;
}

export type PollStep =
  | { readonly do: "pass"; readonly ms: number }
  /** The box's clock is set; null: it is right from now on. */
  | { readonly do: "box"; readonly byMs: number | null }
  | { readonly do: "gateway clock"; readonly offMs: number }
  | { readonly do: "gateway date"; readonly isSent: boolean }
  | { readonly do: "gateway zone"; readonly zone: Zone }
  | { readonly do: "failing"; readonly which: "none" | "some" | "all" }
  /** Its reads take a minute and fail. */
  | { readonly do: "stall"; readonly sensor: SensorCode | null }
  | { readonly do: "held back"; readonly isHeldBack: boolean }
  | { readonly do: "sensors"; readonly codes: readonly SensorCode[]; readonly type: number }
  | { readonly do: "read time"; readonly ms: number }
  | { readonly do: "records"; readonly sensor: SensorCode; readonly pattern: Pattern }
  | { readonly do: "late record"; readonly sensor: SensorCode; readonly agoMs: number }
  | { readonly do: "request"; readonly request: Request }
  | { readonly do: "read soon"; readonly sensor: SensorCode }
  | { readonly do: "read again" }
  | { readonly do: "restart"; readonly first: FirstRequest | null };

export interface PollSequence {
  readonly zone: Zone;
  readonly startMs: number;
  /** The box's clock minus the right time. */
  readonly wrongMs: number;
  readonly hasDate: boolean;
  readonly backfillDays: number;
  readonly intervalMs: number;
  readonly concurrency: number;
  readonly salt: number;
  readonly first: FirstRequest | null;
  readonly steps: readonly PollStep[];
}

const is = <T extends PollStep["do"]>(name: T) => fc.constant(name);
const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.option(arbitrary, { nil: null, freq: 2 });
const sensor = fc.constantFrom(...SENSORS);
const zone = fc.constantFrom(...ZONES);
/** Around the limits of a jump, an hour of summer, a day and its closing, the days that are open. */
const away = fc
  .tuple(
    fc.constantFrom(
      2 * MINUTE,
      10 * MINUTE,
      HOUR,
      5 * HOUR,
      DAY,
      26 * HOUR,
      27 * HOUR,
      2 * DAY,
      3 * DAY,
      7 * DAY,
      8 * DAY,
      365 * DAY,
    ),
    fc.constantFrom(1, 1, -1),
  )
  .map(([ms, sign]) => ms * sign);

const pattern: fc.Arbitrary<Pattern> = fc.record({
  periodMs: fc.constantFrom(7 * S, 37 * S, MINUTE, 5 * MINUTE, HOUR, 30 * HOUR),
  size: fc.constantFrom(1, 1, 2, 5),
  apartMs: fc.constantFrom(1, 150, 2 * S),
  lagMs: fc.constantFrom(0, 900, 4 * S),
});

const asked = {
  isWanted: fc.boolean(),
  sensor: orNull(sensor),
  daysAgo: fc.constantFrom(0, 0, 1, 2, 30),
};
const request: fc.Arbitrary<Request> = fc.record(asked);
const firstRequest: fc.Arbitrary<FirstRequest> = fc.record({ ...asked, isBefore: fc.boolean() });

const weighted = (weight: number, arbitrary: fc.Arbitrary<PollStep>) => ({ weight, arbitrary });
const step: fc.Arbitrary<PollStep> = fc.oneof(
  weighted(
    10,
    fc.record({
      do: is("pass"),
      ms: fc.constantFrom(20, S, 30 * S, 3 * MINUTE, 8 * MINUTE, 30 * MINUTE, 2 * HOUR, 9 * HOUR),
    }),
  ),
  weighted(3, fc.record({ do: is("box"), byMs: orNull(away) })),
  weighted(
    2,
    fc.record({ do: is("gateway clock"), offMs: fc.oneof(fc.constant(0), fc.constant(0), away) }),
  ),
  weighted(2, fc.record({ do: is("gateway date"), isSent: fc.boolean() })),
  weighted(1, fc.record({ do: is("gateway zone"), zone })),
  weighted(
    2,
    fc.record({
      do: is("failing"),
      which: fc.constantFrom("none" as const, "none" as const, "some" as const, "all" as const),
    }),
  ),
  weighted(1, fc.record({ do: is("stall"), sensor: orNull(sensor) })),
  weighted(1, fc.record({ do: is("held back"), isHeldBack: fc.boolean() })),
  weighted(
    2,
    fc.record({
      do: is("sensors"),
      codes: fc.subarray([...SENSORS]),
      type: fc.constantFrom(1, 1, 2),
    }),
  ),
  weighted(1, fc.record({ do: is("read time"), ms: fc.constantFrom(5, 20, 2 * S) })),
  weighted(3, fc.record({ do: is("records"), sensor, pattern })),
  weighted(
    1,
    fc.record({
      do: is("late record"),
      sensor,
      agoMs: fc.constantFrom(MINUTE, 3 * HOUR, 20 * HOUR, 2 * DAY),
    }),
  ),
  weighted(3, fc.record({ do: is("request"), request })),
  weighted(1, fc.record({ do: is("read soon"), sensor })),
  weighted(1, fc.record({ do: is("read again") })),
  weighted(1, fc.record({ do: is("restart"), first: orNull(firstRequest) })),
);

/** Ordinary days, and those on which a clock of one of the zones is changed. */
const DATES = [
  "2026-11-20",
  "2026-10-24",
  "2026-10-25",
  "2027-03-28",
  "2026-09-26",
  "2027-04-03",
  "2026-09-05",
];

export const pollSequences: fc.Arbitrary<PollSequence> = fc.record({
  zone,
  startMs: fc
    .tuple(fc.constantFrom(...DATES), fc.integer({ min: 0, max: 24 * 60 - 1 }))
    .map(([date, minute]) => Date.parse(`${date}T00:00:00Z`) + minute * MINUTE),
  wrongMs: fc.oneof(fc.constant(0), away),
  hasDate: fc.boolean(),
  backfillDays: fc.constantFrom(0, 2, 7),
  intervalMs: fc.constantFrom(5 * S, MINUTE, MINUTE, 10 * MINUTE),
  concurrency: fc.constantFrom(1, 2, 3),
  salt: fc.nat(999_999),
  first: orNull(firstRequest),
  steps: fc.array(step, { minLength: 3, maxLength: 25, size: "max" }),
});

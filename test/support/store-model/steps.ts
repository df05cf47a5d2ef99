/** What can happen to a store, as plain data: fast-check makes sequences of it and shortens those that fail. */
import fc from "fast-check";
import type { DeliveryOutcome, Lane, OutboxUplink } from "../../../src/core/delivery/delivery.ts";
import { START_MS, uplinkOf } from "../temp-database.ts";

export const UPLINKS = ["main", "far"] as const;
export type UplinkName = (typeof UPLINKS)[number];

/** Times are `k` ticks after this moment, so that some lie in the next hour. */
const BASE_MS = START_MS + 58 * 60_000;
const TICK_MS = 20_000;
const TICKS = 12;
export const timeOf = (k: number) => BASE_MS + k * TICK_MS;
export const AFTER_ALL_MS = timeOf(TICKS);
/** Periods of `everyS`, s: two ticks. */
export const PERIOD_S = 40;

/** How an uplink may be configured. */
const VARIANTS = {
  json: ["json", {}],
  sparkplug: ["sparkplug", {}],
  plain: ["plain", {}],
  liveOnly: ["json", { history: false }],
  everyS: ["json", { everyS: PERIOD_S }],
  onChange: ["json", { onChange: { values: { rpm: 2 } } }],
  maxAge: ["json", { maxAgeHours: 0.1 }],
} as const satisfies Record<string, readonly [Lane, Partial<OutboxUplink>]>;
export type Variant = keyof typeof VARIANTS | "absent";

export const laneOf = (variant: Variant): Lane | null =>
  variant === "absent" ? null : VARIANTS[variant][0];
export const isLiveOnly = (variant: Variant) => variant === "plain" || variant === "liveOnly";
export const isWhole = (variant: Variant) =>
  variant === "json" || variant === "sparkplug" || variant === "maxAge";
export const isThinned = (variant: Variant) => variant === "everyS" || variant === "onChange";

export function configured(name: UplinkName, variant: Variant): OutboxUplink[] {
  if (variant === "absent") return [];
  const [lane, rest] = VARIANTS[variant];
  return [uplinkOf(name, [lane], rest)];
}

interface OfUplink {
  readonly uplink: UplinkName;
}
interface OfReading {
  readonly sensor: "1" | "2";
  readonly k: number;
  /** Two readings of one time differ in it. */
  readonly salt: "" | "b";
}

export type Step =
  | ({
      readonly do: "store";
      readonly isFuture: boolean;
      /** Others of the same response. */
      readonly more: readonly number[];
    } & OfReading)
  | ({ readonly do: "alarm" } & OfReading)
  | ({ readonly do: "lease"; readonly which: "live" | "backlog"; readonly max: number } & OfUplink)
  | ({
      readonly do: "settle";
      /** Which of those in flight, in which order. */
      readonly picks: readonly number[];
      readonly outcome: DeliveryOutcome;
      readonly isFlushed: boolean;
    } & OfUplink)
  | ({ readonly do: "session" } & OfUplink)
  | ({ readonly do: "configure"; readonly variant: Variant } & OfUplink)
  | { readonly do: "retain"; readonly isAwaited: boolean }
  | { readonly do: "pass"; readonly minutes: number }
  | { readonly do: "reopen"; readonly isKilled: boolean };

const variants = Object.keys(VARIANTS) as Variant[];
const uplink = fc.constantFrom(...UPLINKS);
const reading = {
  sensor: fc.constantFrom("1" as const, "1" as const, "2" as const),
  k: fc.integer({ min: 0, max: TICKS - 1 }),
  salt: fc.constantFrom("" as const, "" as const, "" as const, "b" as const),
};
const is = <T extends Step["do"]>(name: T) => fc.constant(name);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: is("store"),
      ...reading,
      more: fc.array(reading.k, { maxLength: 3 }),
      isFuture: fc.integer({ min: 0, max: 15 }).map((n) => n === 15),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: is("lease"),
      uplink,
      which: fc.constantFrom("live" as const, "backlog" as const, "backlog" as const),
      max: fc.constantFrom(1, 2, 4, 12),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: is("settle"),
      uplink,
      picks: fc.oneof(
        fc.constant([0, 1, 2, 3, 4, 5, 6, 7]),
        fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 6 }),
      ),
      outcome: fc.constantFrom<DeliveryOutcome[]>(
        "sent",
        "sent",
        "sent",
        "sent",
        "kept",
        "refused",
        "oversize",
      ),
      isFlushed: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: is("alarm"), ...reading }) },
  { weight: 2, arbitrary: fc.record({ do: is("retain"), isAwaited: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: is("pass"), minutes: fc.constantFrom(0.01, 1, 10) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: is("configure"),
      uplink,
      variant: fc.constantFrom<Variant[]>("absent", ...variants),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: is("session"), uplink }) },
  { weight: 1, arbitrary: fc.record({ do: is("reopen"), isKilled: fc.boolean() }) },
);

export interface Sequence {
  readonly variants: Readonly<Record<UplinkName, Variant>>;
  /** Bytes that each reading carries besides: with many the buffer is full after a dozen. */
  readonly padding: number;
  readonly steps: readonly Step[];
}

export const sequences: fc.Arbitrary<Sequence> = fc.record({
  variants: fc.record({
    main: fc.constantFrom<Variant[]>("json", "sparkplug", "everyS", "liveOnly"),
    far: fc.constantFrom<Variant[]>("absent", ...variants),
  }),
  padding: fc.constantFrom(...Array.from({ length: 19 }, () => 0), 600_000),
  steps: fc.array(step, { minLength: 4, maxLength: 40, size: "max" }),
});

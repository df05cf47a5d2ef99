/** What can happen to a publisher and its session, as plain data. */
import fc from "fast-check";
import { type Cut, DIRECTIONS, type Direction } from "./cutting-proxy.ts";

const SENSORS = ["1", "2"] as const;

export type LinkStep =
  | {
      readonly do: "store";
      readonly sensor: (typeof SENSORS)[number];
      /** Seconds after the first moment, of the readings of one response. */
      readonly times: readonly number[];
      /** Too large for the broker. */
      readonly isLarge: boolean;
    }
  | { readonly do: "cut"; readonly cut: Cut }
  | { readonly do: "hold"; readonly direction: Direction }
  | { readonly do: "free" }
  | { readonly do: "renew" }
  | { readonly do: "restart"; readonly isGentle: boolean }
  /** The uplink is configured now, unless it has been all along. */
  | { readonly do: "join" }
  /** A pass of retention: what was stored before the uplink came is queued for it. */
  | { readonly do: "fill" }
  | { readonly do: "pause"; readonly turns: number }
  /** Waits for a session: only where nothing is cut or held. */
  | { readonly do: "connected" };

export interface LinkSequence {
  readonly inflight: number;
  /** Messages of the backlog per second; 0: as fast as they are acknowledged. */
  readonly backlogRatePerS: number;
  /** The uplink comes only with `join`, at the latest with the end. */
  readonly isNew: boolean;
  readonly steps: readonly LinkStep[];
}

const is = <T extends LinkStep["do"]>(name: T) => fc.constant(name);
const direction = fc.constantFrom(...DIRECTIONS);

const step: fc.Arbitrary<LinkStep> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: is("store"),
      sensor: fc.constantFrom(...SENSORS),
      times: fc.uniqueArray(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 60 }),
      isLarge: fc.integer({ min: 0, max: 15 }).map((n) => n === 15),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: is("cut"),
      cut: fc.record({
        direction,
        bytes: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 4_000 })),
        isReset: fc.boolean(),
      }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: is("hold"), direction }) },
  { weight: 2, arbitrary: fc.record({ do: is("free") }) },
  { weight: 1, arbitrary: fc.record({ do: is("renew") }) },
  { weight: 1, arbitrary: fc.record({ do: is("restart"), isGentle: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: is("join") }) },
  { weight: 2, arbitrary: fc.record({ do: is("fill") }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: is("pause"), turns: fc.constantFrom(0, 1, 3, 10, 40, 150) }),
  },
);

export const linkSequences: fc.Arbitrary<LinkSequence> = fc.record({
  inflight: fc.constantFrom(1, 3, 20),
  backlogRatePerS: fc.constantFrom(0, 0, 0, 500),
  isNew: fc.boolean(),
  steps: fc.array(step, { minLength: 4, maxLength: 30, size: "max" }),
});

const responseAt = (from: number): LinkStep => ({
  do: "store",
  sensor: "1",
  times: Array.from({ length: 60 }, (_, n) => from + 20 * n),
  isLarge: false,
});

/** What was stored before the uplink came is queued between rows in flight, which lost it once. */
export const FILLED_IN_FLIGHT: LinkSequence = {
  inflight: 3,
  backlogRatePerS: 500,
  isNew: true,
  steps: [{ do: "connected" }, responseAt(0), { do: "join" }, responseAt(10), { do: "fill" }],
};

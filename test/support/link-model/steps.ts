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
  | { readonly do: "pause"; readonly turns: number };

export interface LinkSequence {
  readonly inflight: number;
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
  {
    weight: 6,
    arbitrary: fc.record({ do: is("pause"), turns: fc.constantFrom(0, 1, 3, 10, 40, 150) }),
  },
);

export const linkSequences: fc.Arbitrary<LinkSequence> = fc.record({
  inflight: fc.constantFrom(1, 3, 20),
  steps: fc.array(step, { minLength: 4, maxLength: 30, size: "max" }),
});

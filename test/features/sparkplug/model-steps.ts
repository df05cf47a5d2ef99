/** What can happen to a Sparkplug node, its broker session and its primary host, as plain data. */
import fc from "fast-check";
import { type Cut, DIRECTIONS, type Direction } from "../../support/link-model/cutting-proxy.ts";

export const SENSORS = ["101", "102"] as const;

export type NodeStep =
  | {
      readonly do: "store";
      readonly sensor: (typeof SENSORS)[number];
      /** Seconds after the first moment, of the readings of one response. */
      readonly times: readonly number[];
    }
  | { readonly do: "cut"; readonly cut: Cut }
  | { readonly do: "hold"; readonly direction: Direction }
  | { readonly do: "free" }
  | {
      readonly do: "host";
      readonly what: "drops" | "stalls" | "leaves" | "dies" | "returns" | "asks";
    }
  | { readonly do: "restart" }
  | { readonly do: "pause"; readonly ms: number };

const is = <T extends NodeStep["do"]>(name: T) => fc.constant(name);
const direction = fc.constantFrom(...DIRECTIONS);

const step: fc.Arbitrary<NodeStep> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: is("store"),
      sensor: fc.constantFrom(...SENSORS),
      times: fc.uniqueArray(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 40 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: is("cut"),
      cut: fc.record({
        direction,
        bytes: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2_000 })),
        isReset: fc.boolean(),
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: is("hold"), direction }) },
  { weight: 2, arbitrary: fc.record({ do: is("free") }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: is("host"),
      what: fc.constantFrom(
        "drops",
        "stalls",
        "stalls",
        "leaves",
        "dies",
        "returns",
        "returns",
        "asks",
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: is("restart") }) },
  { weight: 8, arbitrary: fc.record({ do: is("pause"), ms: fc.constantFrom(0, 2, 10, 40, 120) }) },
);

export const nodeSequences = fc.array(step, { minLength: 4, maxLength: 25, size: "max" });

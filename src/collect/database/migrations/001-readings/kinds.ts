/**
 * The kinds as the first schema knew them, frozen with it: tables.ts follows the program, this does not.
 */
export interface FirstKind {
  /** Null for the table of kinds that the program does not know. */
  readonly kind: string | null;
  readonly table: string;
  readonly times: readonly { readonly attribute: string; readonly column: string }[];
  readonly values: readonly FirstValue[];
}
export interface FirstValue {
  readonly name: string;
  readonly type: "double precision" | "boolean" | "text";
}

const number = (name: string): FirstValue => ({ name, type: "double precision" });
const HEALTH = [number("battery"), number("module_temperature")];

const SHAPES = ["accel_rms", "accel_peak", "accel_pp", "crest_factor", "kurtosis"];
const accelChannel = (n: number): FirstValue[] => [
  ...[...SHAPES, "vel_rms", "disp_pp", "env_rms"].map((name) => number(`channel${n}_${name}`)),
  { name: `channel${n}_zone`, type: "text" },
];

export const FIRST_KINDS: readonly FirstKind[] = [
  {
    kind: "accel",
    table: "reading_accel",
    times: [
      { attribute: "time_data", column: "time_data" },
      { attribute: "realnodetime", column: "realnodetime" },
    ],
    values: [...[1, 2, 3].flatMap(accelChannel), number("temperature"), ...HEALTH],
  },
  {
    kind: "current",
    table: "reading_current",
    times: [],
    values: [...[1, 2, 3].map((n) => number(`current${n}`)), ...HEALTH],
  },
  {
    kind: "currentV2",
    table: "reading_current_v2",
    times: [],
    values: [
      ...[1, 2, 3, 4].flatMap((n) =>
        ["min", "max", "avg"].map((part) => number(`current${n}_${part}`)),
      ),
      ...HEALTH,
    ],
  },
  {
    kind: "accCurrent",
    table: "reading_acc_current",
    times: [{ attribute: "startPeriod", column: "start_period" }],
    values: [...[1, 2, 3, 4].map((n) => number(`accumulated_current${n}`)), ...HEALTH],
  },
  {
    kind: "loop",
    table: "reading_loop",
    times: [],
    values: [
      ...[1, 2, 3, 4].flatMap((n) => [number(`channel${n}`), number(`channel${n}_ma`)]),
      ...HEALTH,
    ],
  },
  {
    kind: "dryContact",
    table: "reading_dry_contact",
    times: [],
    values: [
      ...[1, 2, 3, 4].map((n): FirstValue => ({ name: `input${n}`, type: "boolean" })),
      ...HEALTH,
    ],
  },
  { kind: "rpm", table: "reading_rpm", times: [], values: [number("rpm"), ...HEALTH] },
  { kind: null, table: "reading_other", times: [], values: [] },
];

/** Records that once ended the agent or blocked its event loop, and the reject that each must cause (null: it is a reading). */
export interface HostileRecord {
  readonly name: string;
  readonly kind: "rpm" | "accel";
  readonly reason: string | null;
  /** Members of the record besides its time, as JSON text. */
  readonly members: () => string;
  /** Part of the short form that CI runs. */
  readonly isShort?: boolean;
}

const many = (count: number, item: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => item(n)).join(",");
const samples = (count: number) =>
  many(count, (n) => String(Math.round(9_000 * Math.sin(n / 7) + 500 * Math.sin(n * 1.7))));
const waveform = (count: number, channels: number) => () =>
  `"calibration":0.000244,"sample_rate":25600,${many(channels, (n) => `"channel${n + 1}":[${samples(count)}]`)}`;

export const HOSTILE_RECORDS: readonly HostileRecord[] = [
  {
    name: "10⁶ unknown members (13 MB)",
    kind: "rpm",
    reason: "too_many_members",
    members: () => many(1_000_000, (n) => `"m${n}":1`),
    isShort: true,
  },
  {
    name: "10⁶ unknown members, accel",
    kind: "accel",
    reason: "too_many_members",
    members: () => many(1_000_000, (n) => `"m${n}":1`),
  },
  {
    name: "2·10⁶ empty arrays (6 MB)",
    kind: "rpm",
    reason: "too_many_values",
    members: () => `"list":[${many(2_000_000, () => "[]")}]`,
    isShort: true,
  },
  {
    name: "5·10⁶ empty objects (15 MB)",
    kind: "rpm",
    reason: "too_many_values",
    members: () => `"list":[${many(5_000_000, () => "{}")}]`,
  },
  {
    name: "a text of 15 MB",
    kind: "rpm",
    reason: "text_too_long",
    members: () => `"note":"${"x".repeat(15_000_000)}"`,
    isShort: true,
  },
  {
    name: "nested 200,000 deep",
    kind: "rpm",
    reason: "malformed",
    members: () => `"deep":${"[".repeat(200_000)}${"]".repeat(200_000)}`,
  },
  {
    name: "a channel of 2·10⁶ empty arrays",
    kind: "accel",
    reason: "too_many_samples",
    members: () => `"channel1":[${many(2_000_000, () => "[]")}]`,
  },
  {
    name: "3 channels of 262,144 fractions",
    kind: "accel",
    reason: "too_many_samples",
    members: () => many(3, (n) => `"channel${n + 1}":[${many(262_144, (k) => `${k % 900}.5`)}]`),
  },
  {
    name: "3 channels of 65,000 fractions",
    kind: "accel",
    reason: null,
    members: () => many(3, (n) => `"channel${n + 1}":[${many(65_000, (k) => `${k % 900}.5`)}]`),
  },
  {
    name: "waveform, 1,000,000 samples",
    kind: "accel",
    reason: "too_many_samples",
    members: waveform(1_000_000, 1),
    isShort: true,
  },
  {
    name: "waveform, 3 × 500,000 samples",
    kind: "accel",
    reason: "too_many_samples",
    members: waveform(500_000, 3),
  },
  {
    name: "waveform, 3 × 262,144 samples",
    kind: "accel",
    reason: null,
    members: waveform(262_144, 3),
  },
  {
    name: "waveform, 3 × 262,139 samples (prime)",
    kind: "accel",
    reason: null,
    members: waveform(262_139, 3),
    isShort: true,
  },
];

/** The end of a campaign with several uplinks: each compared separately with what `main` received and the store holds. */
import { cloudValues, cloudWants } from "./cloud-select.ts";
import { describe, ReportedGaps, repeatsOf } from "./compare.ts";
import type { Expectation, Wanted } from "./expectation.ts";
import type { FarSides } from "./far-sides.ts";
import type { GapRecord, Received, Values } from "./received.ts";

export interface UplinkVerdict {
  readonly uplink: string;
  /** Readings that it must receive. */
  readonly due: number;
  readonly received: number;
  readonly repeats: number;
  readonly dropped: number;
  readonly lost: readonly string[];
  readonly invented: readonly string[];
  readonly doubled: readonly string[];
}

export interface Judged {
  readonly uplink: string;
  /** What remains of a reading there; null: it is not due. */
  readonly expected: (wanted: Wanted, values: Values) => Values | null;
  /** Null: it did not arrive. False: it arrived with other values. */
  readonly has: (id: string, wanted: Wanted, expected: Values | null) => boolean | null;
  readonly recorder: Pick<Received, "ids" | "doubled"> | null;
  /** One that is added starts with what is stored at that time. */
  readonly startsLater?: boolean;
}

type Far = Pick<FarSides, "cloud" | "visitor"> & {
  readonly host: Pick<FarSides["host"], "hasReading">;
};

/** `stored`: ids that the store holds; null until they have been read. `gaps`: of all uplinks, from any of them. */
export function judgeUplinks(
  expectation: Expectation,
  main: Pick<Received, "ids">,
  far: Far,
  gaps: readonly GapRecord[],
  stored: ReadonlySet<string> | null,
): UplinkVerdict[] {
  const whole = (_: Wanted, values: Values) => values;
  const cases: readonly Judged[] = [
    {
      uplink: "cloud",
      expected: ({ sensor, kind }, values) =>
        cloudWants(sensor, kind) ? cloudValues(values) : null,
      has: came(far.cloud),
      recorder: far.cloud,
    },
    {
      uplink: "visitor",
      expected: whole,
      has: came(far.visitor),
      recorder: far.visitor,
      startsLater: true,
    },
    {
      uplink: "scada",
      expected: whole,
      has: (_, wanted, expected) => far.host.hasReading(wanted, expected) || null,
      recorder: null,
    },
  ];
  return cases.map((one) => judgeUplink(one, expectation, main, gaps, stored));
}

/** Whether a subscriber received a reading, with these values. */
export const came =
  (recorder: Pick<Received, "ids">): Judged["has"] =>
  (id, _, expected) => {
    const seen = recorder.ids.get(id);
    if (seen === undefined) return null;
    return JSON.stringify(seen.values) === JSON.stringify(expected);
  };

export function judgeUplink(
  { uplink, expected, has, recorder, startsLater = false }: Judged,
  { must, may, gone }: Expectation,
  main: Pick<Received, "ids">,
  gaps: readonly GapRecord[],
  stored: ReadonlySet<string> | null,
): UplinkVerdict {
  const reported = new ReportedGaps(gaps.filter((gap) => gap.uplink === uplink));
  const lost: string[] = [];
  const invented: string[] = [];
  const nameOf = (id: string, wanted: Wanted) => `${uplink}: ${describe(id, wanted)}`;
  let due = 0;
  let received = 0;
  const absent = new Map<string, Wanted>();
  for (const [id, wanted] of [...must, ...gone]) {
    // If `main` has nothing to compare with, it is reported there.
    const values = main.ids.get(id)?.values;
    if (values === undefined || values === null) continue;
    const left = expected(wanted, values);
    const isThere = has(id, wanted, left);
    const what = nameOf(id, wanted);
    if (left === null) {
      if (isThere !== null) invented.push(`${what} was not selected`);
      continue;
    }
    due += 1;
    if (isThere === false) invented.push(`${what} came with other values than on main`);
    else if (isThere === true) received += 1;
    else if (stored === null) lost.push(what);
    // Of what a full buffer gave up here, others may have been owed it: it is told all the same.
    else absent.set(id, wanted);
  }
  const unreported = reported.take(absent);
  if (startsLater) due -= unreported.size;
  else
    for (const [id, wanted] of unreported)
      lost.push(
        `${nameOf(id, wanted)} is ${stored?.has(id) ? "" : "not "}stored${reported.remainder(wanted)}`,
      );
  for (const id of recorder?.ids.keys() ?? []) {
    if (!may.has(id)) invented.push(`${uplink}: ${id}`);
  }
  // Two records that differ in a member nobody knows are alike where no raw record is sent.
  const doubled = [...(recorder?.doubled ?? [])]
    .filter(([, ids]) => !ids.every((id) => may.has(id)))
    .map(([text]) => `${uplink}: ${text}`);
  const repeats = recorder === null ? 0 : repeatsOf(recorder.ids);
  return {
    uplink,
    due,
    received,
    repeats,
    dropped: absent.size - unreported.size,
    lost,
    invented,
    doubled,
  };
}

/** The end of a campaign: what the gateway showed against what a subscriber received and the store holds, id by id. */
import type { Step } from "../../src/simulator/record-faults.ts";
import type { Simulator } from "../../src/simulator/server.ts";
import { expectedId, expectedTimeMs } from "../../test/support/expected-reading.ts";
import type { Recorder } from "./recorder.ts";

const DAY_MS = 86_400_000;

interface Wanted {
  readonly sensor: string;
  readonly kind: string;
  readonly timeMs: number;
}

export interface Expectation {
  /** Must have arrived: shown whole, and still readable now. */
  readonly must: ReadonlyMap<string, Wanted>;
  /** May have arrived: shown at any time, also in answers that broke off. */
  readonly may: ReadonlyMap<string, Wanted>;
  /** Shown whole, and taken back since: may have been on their way into an agent that was killed. */
  readonly gone: ReadonlySet<string>;
}

/** What is due by now. `backfillDays` is how far back the agent reads. */
export function expectationOf(simulator: Simulator, backfillDays: number): Expectation {
  const must = new Map<string, Wanted>();
  const may = new Map<string, Wanted>();
  const gone = new Set<string>();
  const readable = new Map<string, Set<number>>();
  const { zone, clock } = simulator;
  const today = zone.dayOf(clock.now());
  const oldest = zone.dayOf(clock.now() - backfillDays * DAY_MS);
  for (const { code, kinds } of simulator.plant.sensors) {
    for (const kind of kinds) {
      const numbers = new Set<number>();
      readable.set(`${code} ${kind}`, numbers);
      const fromMs = clock.now() - (backfillDays + 1) * DAY_MS;
      for (const item of simulator.truth(code, kind, fromMs, clock.now() + DAY_MS)) {
        if (item.day < oldest || item.day > today) continue;
        numbers.add(item.n);
      }
    }
  }
  const shownRecords = [...simulator.served()];
  const versions = new Map<string, (typeof shownRecords)[number]["steps"][]>();
  const placeOf = ({ sensor, kind, n }: (typeof shownRecords)[number]) => `${sensor} ${kind} ${n}`;
  for (const shown of shownRecords) {
    const list = versions.get(placeOf(shown)) ?? [];
    list.push(shown.steps);
    versions.set(placeOf(shown), list);
  }
  for (const shown of shownRecords) {
    const { sensor, kind, record, steps } = shown;
    const id = expectedId(sensor, kind, record);
    if (id === null || shown.expect === "reject") continue;
    const wanted = { sensor, kind, timeMs: expectedTimeMs(kind, record) ?? Number.NaN };
    may.set(id, wanted);
    if (shown.state !== "complete") continue;
    const isReplaced = versions.get(placeOf(shown))?.some((other) => replaces(other, steps));
    const isReadable = readable.get(`${sensor} ${kind}`)?.has(shown.n) === true && !isReplaced;
    if (isReadable) must.set(id, wanted);
    else gone.add(id);
  }
  return { must, may, gone };
}

/** Faults that put a record beside the one there was; every other takes its place. */
const BESIDE: ReadonlySet<string> = new Set(["same-time-other-content", "foreign", "other-day"]);

/** Whether a version of a record is what the gateway shows now in the place of another. */
function replaces(later: readonly Step[], earlier: readonly Step[]): boolean {
  const next = later[earlier.length];
  if (next === undefined || BESIDE.has(next[0])) return false;
  return JSON.stringify(later.slice(0, earlier.length)) === JSON.stringify(earlier);
}

export interface Verdict {
  readonly shown: number;
  readonly received: number;
  readonly lost: readonly string[];
  /** Missing, and told so by a gap record. */
  readonly givenUp: number;
  readonly invented: readonly string[];
  readonly doubled: readonly string[];
  /** The same id more than once: allowed, delivery is at least once. */
  readonly repeats: number;
  readonly goneMissing: number;
}

export function judge(expectation: Expectation, recorder: Recorder): Verdict {
  const { must, may, gone } = expectation;
  const lost: string[] = [];
  let givenUp = 0;
  for (const [id, wanted] of must) {
    if (recorder.ids.has(id)) continue;
    const isTold = recorder.gaps.some(
      (gap) =>
        gap.sensor === wanted.sensor &&
        gap.kind === wanted.kind &&
        wanted.timeMs >= Date.parse(gap.from) &&
        wanted.timeMs <= Date.parse(gap.to),
    );
    if (isTold) givenUp += 1;
    else
      lost.push(`${id} ${wanted.sensor} ${wanted.kind} ${new Date(wanted.timeMs).toISOString()}`);
  }
  let repeats = 0;
  for (const { count } of recorder.ids.values()) repeats += count - 1;
  return {
    shown: must.size,
    received: recorder.ids.size,
    lost,
    givenUp,
    invented: [...recorder.ids.keys()].filter((id) => !may.has(id)),
    doubled: [...recorder.doubled],
    repeats,
    goneMissing: [...gone].filter((id) => !recorder.ids.has(id)).length,
  };
}

/** Ids as `gateside export --format jsonl` writes them. */
export function storedIds(jsonLines: string): { ids: Set<string>; twice: Set<string> } {
  const ids = new Set<string>();
  const twice = new Set<string>();
  for (const line of jsonLines.split("\n")) {
    if (line === "") continue;
    const { id }: { id: string } = JSON.parse(line);
    if (ids.has(id)) twice.add(id);
    ids.add(id);
  }
  return { ids, twice };
}

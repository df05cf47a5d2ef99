/** What must have arrived, by ids that the campaign computes itself from the records that the gateway served. */
import type { PlainRecord } from "../../src/simulator/plain-record.ts";
import type { RecordStep } from "../../src/simulator/record-faults.ts";
import type { ShownRecord, Simulator } from "../../src/simulator/simulator.ts";
import { expectedId, expectedTimeMs } from "../../test/support/expected-reading.ts";

const DAY_MS = 86_400_000;

export interface Wanted {
  readonly sensor: string;
  readonly kind: string;
  readonly timeMs: number;
  readonly record?: PlainRecord;
  /** Channels whose waveforms must arrive; none for records that a fault altered. */
  readonly channels: readonly string[];
}

export interface Expectation {
  /** Must have arrived: served completely, and still readable now. */
  readonly must: ReadonlyMap<string, Wanted>;
  /** May have arrived: served at any time, including in truncated responses. */
  readonly may: ReadonlyMap<string, Wanted>;
  /** Served completely, and taken back since: they may have been on their way into an agent that was killed. */
  readonly gone: ReadonlyMap<string, Wanted>;
}

/** Faults that add a record next to the original; all others replace it. */
const BESIDE: ReadonlySet<string> = new Set(["same-time-other-content", "foreign", "other-day"]);

export class Expectations {
  readonly #simulator: Simulator;
  readonly #backfillDays: number;
  /** Ids by record and alteration; null if it cannot become a reading. */
  readonly #ids = new Map<string, { readonly id: string; readonly wanted: Wanted } | null>();

  /** `backfillDays` is how far back the agent reads. */
  constructor(simulator: Simulator, backfillDays: number) {
    this.#simulator = simulator;
    this.#backfillDays = backfillDays;
  }

  now(): Expectation {
    const must = new Map<string, Wanted>();
    const may = new Map<string, Wanted>();
    const gone = new Map<string, Wanted>();
    const readable = this.#readable();
    const shownRecords = [...this.#simulator.served()];
    const versions = new Map<string, (readonly RecordStep[])[]>();
    for (const shown of shownRecords) {
      const list = versions.get(placeOf(shown)) ?? [];
      list.push(shown.steps);
      versions.set(placeOf(shown), list);
    }
    for (const shown of shownRecords) {
      const known = this.#known(shown);
      if (known === null) continue;
      may.set(known.id, known.wanted);
      if (shown.state !== "complete") continue;
      const { sensor, kind, n, steps } = shown;
      const isReplaced = versions.get(placeOf(shown))?.some((other) => replaces(other, steps));
      const isReadable = readable.get(`${sensor} ${kind}`)?.has(n) === true && !isReplaced;
      (isReadable ? must : gone).set(known.id, known.wanted);
    }
    for (const id of must.keys()) gone.delete(id);
    return { must, may, gone };
  }

  /** Records that the agent can read now, each as `sensor kind number`. */
  readable(): string[] {
    return [...this.#readable()].flatMap(([stream, numbers]) =>
      [...numbers].map((n) => `${stream} ${n}`),
    );
  }

  /** Those that no response has contained completely, in any version. */
  unread(places: readonly string[]): string[] {
    const shown = new Set<string>();
    for (const record of this.#simulator.served()) {
      if (record.state === "complete") shown.add(placeOf(record));
    }
    return places.filter((place) => !shown.has(place));
  }

  /** Numbers of the records that the agent can read today, by sensor and kind. */
  #readable(): Map<string, Set<number>> {
    const readable = new Map<string, Set<number>>();
    const { zone, clock, plant } = this.#simulator;
    const nowMs = clock.now();
    const today = zone.dayOf(nowMs);
    const oldest = zone.dayOf(nowMs - this.#backfillDays * DAY_MS);
    const fromMs = nowMs - (this.#backfillDays + 1) * DAY_MS;
    for (const { code, kinds } of plant.sensors) {
      for (const kind of kinds) {
        const numbers = new Set<number>();
        readable.set(`${code} ${kind}`, numbers);
        for (const { day, n } of this.#simulator.truth(code, kind, fromMs, nowMs + DAY_MS)) {
          if (day >= oldest && day <= today) numbers.add(n);
        }
      }
    }
    return readable;
  }

  #known(shown: ShownRecord): { readonly id: string; readonly wanted: Wanted } | null {
    if (shown.expect === "reject") return null;
    const key = `${placeOf(shown)} ${JSON.stringify(shown.steps)}`;
    const before = this.#ids.get(key);
    if (before !== undefined) return before;
    const { sensor, kind, record, steps } = shown;
    const id = expectedId(sensor, kind, record);
    const timeMs = expectedTimeMs(kind, record) ?? Number.NaN;
    const channels = steps.length > 0 ? [] : CHANNELS.filter((name) => hasSamples(record[name]));
    const known = id === null ? null : { id, wanted: { sensor, kind, timeMs, record, channels } };
    this.#ids.set(key, known);
    return known;
  }
}

const CHANNELS = ["channel1", "channel2", "channel3"];
const hasSamples = (value: unknown) => value instanceof Int16Array && value.length > 0;

const placeOf = ({ sensor, kind, n }: ShownRecord) => `${sensor} ${kind} ${n}`;

/** Whether the gateway now shows this version of a record instead of another. */
function replaces(later: readonly RecordStep[], earlier: readonly RecordStep[]): boolean {
  const next = later[earlier.length];
  if (next === undefined || BESIDE.has(next[0])) return false;
  return JSON.stringify(later.slice(0, earlier.length)) === JSON.stringify(earlier);
}

/** The learned levels of a sensor as one reading meets them: limits by what was learned, or one more sample to learn from. */

import type { BaselineTest, Watch } from "../../../core/alarm/compile.ts";
import type { FollowedReading, MachineState } from "../../../core/followed-reading.ts";
import type { Sensor } from "../../../core/sensor.ts";
import type { Site } from "../../../core/site.ts";
import {
  type BaselineState,
  baselineBounds,
  baselineKey,
  firstAt,
  follow as followBaseline,
  learn,
  learnedAt,
  UNLEARNED,
} from "./baseline.ts";
import { type AlarmState, asLearned, isNothing, type SensorAlarms } from "./sensor-alarms.ts";
import type { Bounds } from "./watch-state.ts";

export interface Surroundings {
  readonly site: Site;
  readonly sensor: Sensor;
  readonly watches: readonly Watch[];
  /** Whether some signal shows when the sensor's machine runs. */
  readonly hasRunning: boolean;
  readonly machine: MachineState | null;
  /** Learning samples of this sensor so far, of a baseline that began with sample number `from`. */
  readonly samples: (baseline: string, from: number) => number[];
}

/** What a reading adds to the samples of the sensor: by baseline, value and zone. */
export type Learned = Record<string, readonly [value: number, zone: string | null]>;

/** One reading in this many moves the slow baseline, selected by its id, so that it rarely causes a write. */
const SLOW_EVERY = 16;

export class LearnedLevels {
  readonly #state: SensorAlarms;
  readonly #around: Pick<Surroundings, "hasRunning" | "machine" | "samples">;
  readonly #reading: FollowedReading;
  learned: Learned | null = null;
  /** Baselines that this reading completed. */
  readonly completed: string[] = [];

  constructor(
    state: SensorAlarms,
    around: Pick<Surroundings, "hasRunning" | "machine" | "samples">,
    reading: FollowedReading,
  ) {
    this.#state = state;
    this.#around = around;
    this.#reading = reading;
  }

  /** Limits for a value, if any are learned; else it is learned of, unless it is late or an alarm stands. */
  bounds(
    watch: Watch,
    test: BaselineTest,
    value: number,
    { known, isLate }: { readonly known: AlarmState; readonly isLate: boolean },
  ): Bounds | null {
    const { hasRunning, machine } = this.#around;
    // Running and stopped have separate baselines; while the state is unknown, neither applies.
    if (hasRunning && machine === null) return null;
    const { baselines } = this.#state;
    const key = this.#baselineKey(watch);
    const before = baselines.get(key) ?? UNLEARNED;
    if (before.first === null) {
      // What an alarm stands for is no normal state, of records of another length neither.
      if (!isLate && known.watch.active === null) this.#learn(key, test, value);
      return null;
    }
    // How far the slow one has followed when a late reading comes depends on when it comes.
    if (isLate) return baselineBounds(firstAt(before, this.#reading.timeMs), test);
    const bounds = baselineBounds(before, test);
    // What waits of another state, or of other records, says nothing of this one.
    const at = learnedAt(machine, this.#reading.record?.shape);
    const { aside: _waiting, ...own } = asLearned(known, at) ?? known;
    if (bounds === null || !isNothing(own)) return bounds;
    const { high, low } = bounds.limits;
    const isNormal = value <= (high ?? value) && value >= (low ?? value);
    if (isNormal && Number.parseInt(this.#reading.id.slice(0, 2), 16) % SLOW_EVERY === 0)
      baselines.set(key, followBaseline(before, test, value, SLOW_EVERY));
    return bounds;
  }

  /** Of the record's rate and length, too; a baseline of before these counted goes on as theirs. */
  #baselineKey(watch: Watch): string {
    const { baselines } = this.#state;
    const { machine } = this.#around;
    const shape = this.#reading.record?.shape;
    const key = baselineKey(watch.key, learnedAt(machine, shape));
    const plain = baselineKey(watch.key, learnedAt(machine, undefined));
    const former = shape === undefined || baselines.has(key) ? undefined : baselines.get(plain);
    if (former === undefined) return key;
    baselines.delete(plain);
    const { shape: of, ...state } = former;
    if (state.first !== null && (of === undefined || of === shape)) baselines.set(key, state);
    return key;
  }

  #learn(key: string, test: BaselineTest, value: number): void {
    const { timeMs, values, record } = this.#reading;
    // Bands of a machine in zone C or D are not its normal state.
    if (record?.zone === "C" || record?.zone === "D") return;
    const { baselines, nextSample } = this.#state;
    const before = baselines.get(key) ?? { ...UNLEARNED, from: nextSample };
    const text = test.zone === null ? null : values[test.zone];
    const zone = typeof text === "string" ? text : null;
    const next = learn(before, this.#around.samples(key, before.from), test, {
      value,
      timeMs,
      zone,
    });
    baselines.set(key, next);
    keepFewShapes(baselines, key);
    if (next.first !== null) this.completed.push(key);
    this.learned ??= {};
    this.learned[key] = [value, zone];
  }
}

/** Baselines of one value and running state by records of different rates and lengths; beyond it the oldest goes. */
const SHAPES_MAX = 4;

/** Records of a changed rate or length are few kinds; what is left of former ones goes, what is being learned first. */
function keepFewShapes(baselines: Map<string, BaselineState>, key: string): void {
  const [plain = key] = key.split("#");
  const others = [...baselines].filter(([one]) => one !== key && one.startsWith(`${plain}#`));
  if (others.length < SHAPES_MAX) return;
  const age = ({ learnedMs }: BaselineState) => learnedMs ?? Number.NEGATIVE_INFINITY;
  const [oldest] = others.toSorted(([, a], [, b]) => age(a) - age(b));
  if (oldest !== undefined) baselines.delete(oldest[0]);
}

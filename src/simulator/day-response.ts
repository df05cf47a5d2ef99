/** From a request for a day to the records of its response, faults included. */
import type { PolledKind } from "../core/sensor.ts";
import type { FaultBook, FaultSet } from "./faults.ts";
import type { PlainRecord } from "./plain-record.ts";
import type { Plant, PlantSensor } from "./plant.ts";
import {
  applyRecordFaults,
  applySteps,
  extraDelay,
  type FaultyItem,
  type RecordStep,
} from "./record-faults.ts";
import type { RecordRef, SensorHistory } from "./sensor-history.ts";
import type { SimulatedClock } from "./simulated-clock.ts";
import type { TimeZone } from "./time-zone.ts";

export interface DayQuestion {
  readonly kind: PolledKind;
  readonly type: number;
  readonly code: string;
  readonly day: string;
}

const MEGABYTES_DEFAULT = 120;

export interface TruthRecord {
  readonly sensor: string;
  readonly kind: PolledKind;
  readonly n: number;
  /** The time in its reading, on the gateway's clock, ms. */
  readonly timeMs: number;
  /** The gateway's calendar day that contains it. */
  readonly day: string;
  /** When the gateway received it, the plant's true time, ms. */
  readonly visibleAtMs: number;
  readonly record: PlainRecord;
}

export class DayResponses {
  readonly #plant: Plant;
  readonly #history: SensorHistory;
  readonly #zone: TimeZone;
  readonly #clock: SimulatedClock;
  readonly #faults: FaultBook;

  constructor(
    plant: Plant,
    history: SensorHistory,
    zone: TimeZone,
    clock: SimulatedClock,
    faults: FaultBook,
  ) {
    this.#plant = plant;
    this.#history = history;
    this.#zone = zone;
    this.#clock = clock;
    this.#faults = faults;
  }

  /** Whose records a serial number selects: the successor of a swapped sensor reports for its machine. */
  sensorOf(code: string): PlantSensor | undefined {
    const own = this.#plant.byCode.get(code);
    if (own) return own;
    const swap = this.#faults
      .list()
      .find(({ spec }) => spec.name === "sensor-swapped" && spec.text === code);
    return swap && this.#plant.byCode.get(swap.spec.sensor ?? "");
  }

  /** Index of a serial number in the plant's list; -1 if it is not in it. */
  placeOf(code: string): number {
    return this.#plant.sensors.findIndex((sensor) => sensor.code === code);
  }

  items({ kind, type, code, day }: DayQuestion, faults: FaultSet): Iterable<FaultyItem> {
    const sensor = this.sensorOf(code.trim().replace(/^0+(?=\d)/, ""));
    const expected = faults.get("type-changed")?.spec.status ?? sensor?.type;
    if (!sensor?.kinds.includes(kind) || type !== expected) return [];
    let refs = this.#history.day(sensor, kind, day, extraDelay(faults));
    const swap = faults.get("sensor-swapped");
    if (swap) {
      const isNew = code === swap.spec.text;
      refs = refs.filter((ref) => ref.trueMs >= swap.sinceMs === isNew);
      if (isNew) {
        const steps: RecordStep[] = [["sensor-swapped", 0, code]];
        return applyRecordFaults(refs, faults).map((item) => ({
          ref: item.ref,
          steps: [...steps, ...item.steps],
        }));
      }
    }
    const items = applyRecordFaults(refs, faults);
    const big = faults.get("big-day");
    const model = items[0];
    return big && model ? this.#grown(sensor, items, model, day, kind, big.spec.megabytes) : items;
  }

  /** Additional records at even distances over the day so far; generated one by one, so that none has to be held. */
  *#grown(
    sensor: PlantSensor,
    items: readonly FaultyItem[],
    model: FaultyItem,
    day: string,
    kind: PolledKind,
    megabytes = MEGABYTES_DEFAULT,
  ): Generator<FaultyItem> {
    yield* items;
    const startMs = this.#zone.startOf(day);
    const endMs = Math.min(this.#zone.endOf(day), this.#clock.now());
    const bytes = textLength(this.#history.record(sensor, kind, model.ref));
    const count = Math.ceil((megabytes * 1e6) / bytes);
    for (let i = 0; i < count; i++) {
      const atMs = Math.floor(startMs + ((i + 0.5) * Math.max(1, endMs - startMs)) / count);
      yield { ref: model.ref, steps: [...model.steps, ["big-day", i, atMs]] };
    }
  }

  record(sensor: PlantSensor, kind: PolledKind, item: FaultyItem): PlainRecord {
    return applySteps(this.#history.record(sensor, kind, item.ref), item.steps);
  }

  /** Records measured in [from, to) on the gateway's clock that it has by now, without any fault. */
  *truth(
    sensor: PlantSensor,
    kind: PolledKind,
    fromMs: number,
    toMs: number,
  ): Generator<TruthRecord> {
    const now = this.#clock.trueNow();
    for (const range of this.#clock.trueRanges(fromMs, toMs)) {
      for (const ref of this.#history.between(
        sensor,
        kind,
        range.fromMs,
        Math.min(range.toMs, now + 1),
      )) {
        if (ref.visibleMs <= now) yield this.truthOf(sensor, kind, ref);
      }
    }
  }

  truthOf(sensor: PlantSensor, kind: PolledKind, ref: RecordRef): TruthRecord {
    return {
      sensor: sensor.code,
      kind,
      n: ref.n,
      timeMs: ref.trueMs + this.#clock.offsetAt(ref.trueMs),
      day: this.#zone.dayOf(this.#history.dayStampMs(sensor, kind, ref)),
      visibleAtMs: ref.visibleMs,
      record: this.record(sensor, kind, { ref, steps: [] }),
    };
  }
}

/** Approximate size of a record on the wire, bytes. */
function textLength(record: PlainRecord): number {
  const plain = (_: string, value: unknown) => (value instanceof Int16Array ? [...value] : value);
  return JSON.stringify(record, plain).length;
}

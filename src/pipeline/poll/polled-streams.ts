import {
  isRead,
  type Kind,
  normalCode,
  type PolledKind,
  type Sensor,
  streamKey,
} from "../../core/sensor.ts";
import { Cadence } from "./cadence.ts";
import type { PolledStream } from "./task.ts";

export interface StreamsChange {
  readonly added: readonly PolledStream[];
  readonly removed: readonly PolledStream[];
  /** The way of reading changed, so earlier failures and results say little: their open days are read. */
  readonly retyped: readonly PolledStream[];
}

/** What is polled: a stream for each sensor and kind of the current site file. */
export class PolledStreams {
  readonly #intervalMs: number;
  #all: PolledStream[] = [];
  #set: ReadonlySet<PolledStream> = new Set();
  readonly #byName = new Map<string, PolledStream>();
  /** Sensors without a stream: disabled in the site file, or only read for their state. */
  notPolled: readonly Sensor[] = [];

  /** @param intervalMs POLL_INTERVAL_S, for sensors without their own interval */
  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  get all(): readonly PolledStream[] {
    return this.#all;
  }

  has(stream: PolledStream): boolean {
    return this.#set.has(stream);
  }

  find(sensor: string, kind: Kind): PolledStream | undefined {
    return this.#byName.get(nameOf({ code: sensor }, kind));
  }

  /** An unchanged stream keeps its days, interval and place in the queue, whatever else of its sensor changed. */
  take(sensors: readonly Sensor[]): StreamsChange {
    // A sensor that is the same object has changed in nothing.
    const same = new Map<Sensor, PolledStream[]>();
    const present = new Set(sensors);
    const known = new Map<string, PolledStream>();
    for (const stream of this.#all) {
      if (!present.has(stream.sensor)) known.set(nameOf(stream.sensor, stream.kind), stream);
      else same.set(stream.sensor, [...(same.get(stream.sensor) ?? []), stream]);
    }
    const added: PolledStream[] = [];
    const retyped: PolledStream[] = [];
    this.notPolled = sensors.filter((sensor) => !isRead(sensor) || sensor.kinds.length === 0);
    this.#all = sensors.filter(isRead).flatMap((sensor) => {
      const own = same.get(sensor);
      if (own !== undefined) return own;
      return sensor.kinds.map((kind) => {
        const name = nameOf(sensor, kind);
        const stream = known.get(name);
        known.delete(name);
        if (stream === undefined) {
          const fresh = this.#create(sensor, kind);
          added.push(fresh);
          return fresh;
        }
        if (stream.sensor.type !== sensor.type) retyped.push(stream);
        stream.sensor = sensor;
        stream.intervalMs = this.#intervalOf(sensor);
        return stream;
      });
    });
    this.#set = new Set(this.#all);
    const removed = [...known.values()];
    for (const { sensor, kind } of removed) this.#byName.delete(nameOf(sensor, kind));
    for (const stream of added) this.#byName.set(nameOf(stream.sensor, stream.kind), stream);
    return { added, removed, retyped };
  }

  #create(sensor: Sensor, kind: PolledKind): PolledStream {
    return {
      sensor,
      kind,
      cadence: new Cadence(),
      intervalMs: this.#intervalOf(sensor),
      usualIntervalMs: this.#intervalMs,
      days: new Map(),
      closedDays: new Set(),
      waiting: new Set(),
      slowdown: 1,
      wasSilentSinceMs: null,
      startedAt: 0,
      lastReadAtMs: null,
      lastDurationMs: 0,
      failure: null,
      rejected: { count: 0, reason: "" },
      isSlow: false,
      hasRecords: false,
      foundAt: null,
      epoch: 0,
      offsetMinutes: null,
    };
  }

  #intervalOf({ pollIntervalS }: Sensor): number {
    return pollIntervalS === undefined ? this.#intervalMs : pollIntervalS * 1000;
  }
}

function nameOf({ code }: Pick<Sensor, "code">, kind: Kind): string {
  return streamKey(normalCode(code), kind);
}

/** What a subscriber saw of a simulated plant, by id, beside what the plant's truth says it must see. */
import assert from "node:assert/strict";
import type { TruthRecord } from "../../src/simulator/day-response.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { deadlineMs } from "./deadline.ts";
import { expectedId } from "./expected-reading.ts";
import type { RecordingSubscriber } from "./mosquitto.ts";

export interface SeenReading {
  readonly id: string;
  /** Sensor and kind. */
  readonly stream: string;
  readonly sensor: string;
  readonly kind: string;
  readonly timeMs: number;
  readonly isHistory: boolean;
  /** Place among all messages of the subscriber. */
  readonly index: number;
  /** ms of Date.now() at arrival. */
  readonly at: number;
  readonly payload: Readonly<Record<string, unknown>>;
}

const READING_TOPIC =
  /\/([^/]+)\/(accel|current|currentV2|accCurrent|loop|dryContact|rpm)(\/history)?$/;

/** Reads a subscriber's messages as they come; each is parsed once. */
export class SeenReadings {
  readonly list: SeenReading[] = [];
  readonly byId = new Map<string, SeenReading[]>();
  readonly #subscriber: RecordingSubscriber;
  #parsed = 0;

  constructor(subscriber: RecordingSubscriber) {
    this.#subscriber = subscriber;
  }

  update(): this {
    const { messages } = this.#subscriber;
    for (; this.#parsed < messages.length; this.#parsed++) {
      const message = messages[this.#parsed];
      const match = message && READING_TOPIC.exec(message.topic);
      if (!match) continue;
      const payload: Record<string, unknown> = JSON.parse(message.text);
      const seen: SeenReading = {
        id: String(payload["id"]),
        stream: `${payload["sensor"]} ${payload["kind"]}`,
        sensor: String(payload["sensor"]),
        kind: String(payload["kind"]),
        timeMs: Date.parse(String(payload["time"])),
        isHistory: match[3] !== undefined,
        index: this.#parsed,
        at: message.at,
        payload,
      };
      this.list.push(seen);
      const same = this.byId.get(seen.id);
      if (same) same.push(seen);
      else this.byId.set(seen.id, [seen]);
    }
    return this;
  }

  missing(truth: ReadonlyMap<string, TruthRecord>): TruthRecord[] {
    this.update();
    return [...truth].flatMap(([id, record]) => (this.byId.has(id) ? [] : [record]));
  }

  /** Until every record has come. */
  async waitFor(truth: ReadonlyMap<string, TruthRecord>, timeoutMs: number): Promise<void> {
    const open = new Set(truth.keys());
    let at = 0;
    try {
      await this.#subscriber.waitUntil(() => {
        this.update();
        for (; at < this.list.length; at++) open.delete(this.list[at]?.id ?? "");
        return open.size === 0;
      }, deadlineMs(timeoutMs));
    } catch (err) {
      const some = this.missing(truth).map((m) => `${m.sensor} ${m.kind} ${m.n} of ${m.day}`);
      const what = `${some.length} of ${truth.size} records did not come: ${some.slice(0, 5).join(", ")}`;
      throw new Error(what, { cause: err });
    }
  }
}

/** Every record that the gateway shows by now, measured in [fromMs, untilMs), by the id its reading must have. */
export function truthOf(
  simulator: Simulator,
  fromMs: number,
  untilMs: number = simulator.clock.now() + 1,
): Map<string, TruthRecord> {
  const truth = new Map<string, TruthRecord>();
  for (const { code, kinds } of simulator.plant.sensors) {
    for (const kind of kinds) {
      for (const record of simulator.truth(code, kind, fromMs, untilMs)) {
        const id = expectedId(code, kind, record.record);
        if (id !== null) truth.set(id, record);
      }
    }
  }
  return truth;
}

/** Contract section 6: a live topic only moves forward in time (the same reading may arrive again); history is marked as such. */
export function assertLiveMovesForward(readings: readonly SeenReading[]): void {
  const newest = new Map<string, SeenReading>();
  for (const reading of readings) {
    const { stream, timeMs, isHistory, payload } = reading;
    assert.equal(payload["historical"], isHistory, stream);
    if (isHistory) continue;
    const before = newest.get(stream);
    assert.ok(
      before === undefined || timeMs > before.timeMs || reading.id === before.id,
      `${stream} went back to ${new Date(timeMs).toISOString()}`,
    );
    newest.set(stream, reading);
  }
}

import type { SensorState } from "../../core/agent-status.ts";
import type { Clock } from "../../core/ports.ts";
import { isRead, normalCode } from "../../core/sensor.ts";
import { MINUTE_MS } from "../../core/time-units.ts";
import { type ConditionSubject, subjectKey } from "./condition-subjects.ts";

/** A machine whose sensors cannot all be read is shown after this time. */
const SETTLE_MAX_MS = 5 * MINUTE_MS;

/** The machines, by key, of which each sensor has been read since the start, or has had five minutes for it. */
export class Settled {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #settled = new Set<string>();
  /** When a machine was first looked at, monotonic ms. */
  readonly #appearedAt = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  has(key: string): boolean {
    return this.#settled.has(key);
  }

  look(subject: ConditionSubject, states: ReadonlyMap<string, SensorState>): void {
    const key = subjectKey(subject);
    if (this.#settled.has(key)) return;
    const now = this.#clock.monotonic();
    const appearedAt = this.#appearedAt.get(key) ?? now;
    this.#appearedAt.set(key, appearedAt);
    const isKnown = subject.sensors.filter(isRead).every(({ code }) => {
      const kinds = states.get(normalCode(code))?.kinds;
      return kinds?.every(({ lastReadAtMs, lastError }) => lastReadAtMs !== null && !lastError);
    });
    if (isKnown || now - appearedAt >= SETTLE_MAX_MS) this.#settled.add(key);
  }

  /** Others are gone from the site file. */
  retain(keys: ReadonlySet<string>): void {
    for (const known of [this.#settled, this.#appearedAt])
      for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
  }
}

/** Follows the signals of machines where alarms are off: bands need their speed all the same. */
import type { FollowedReading, FollowUp, ReadingFollower } from "../alarm/follow-up.ts";
import type { Kind } from "../sensor.ts";
import type { Tx } from "../tx.ts";
import type { DayReadAt } from "./signal-reads.ts";
import type { Wait } from "./wait.ts";

const NOTHING: FollowUp = { events: [], states: [], samples: [], forgotten: [] };

export class SignalsOnly implements ReadingFollower {
  readonly #wait: Wait;

  constructor(wait: Wait) {
    this.#wait = wait;
  }

  machineStateFor(): null {
    return null;
  }

  isFollowed(sensor: string, kind: Kind): boolean {
    return this.#wait.isSignal(sensor, kind);
  }

  follow(
    tx: Tx,
    sensor: string,
    kind: Kind,
    readings: readonly FollowedReading[],
    read: DayReadAt | null,
  ): FollowUp {
    this.#wait.note(tx, sensor, kind, readings, read);
    return NOTHING;
  }
}

import type { IClientOptions } from "mqtt";

/** Packet identifiers (MQTT 2.2.1) from here up belong to mqtt.js, for SUBSCRIBE; those below to our publishes. */
const FIRST_OF_CLIENT = 65_000;
const LAST = 65_535;

/** The next identifier for a publish that no unanswered one uses; more than 64,999 of them are never in flight. */
export class PublishIds {
  #last = 0;

  next(isTaken: (id: number) => boolean): number {
    do this.#last = this.#last >= FIRST_OF_CLIENT - 1 ? 1 : this.#last + 1;
    while (isTaken(this.#last));
    return this.#last;
  }
}

/** The source of mqtt.js's own identifiers. */
export function clientPacketIds(): NonNullable<IClientOptions["messageIdProvider"]> {
  let last = LAST;
  return {
    allocate() {
      last = last >= LAST ? FIRST_OF_CLIENT : last + 1;
      return last;
    },
    getLastAllocated: () => last,
    register: () => true,
    deallocate: () => {},
    clear: () => {},
  };
}

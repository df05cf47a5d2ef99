import type { Clock } from "../../core/ports.ts";
import { HOUR_MS } from "../../core/time-units.ts";

/** Consecutive CONNECTs with a retained will that a 3.1.1 broker closes silently before one without retain is tried. */
const SILENT_REFUSALS_MAX = 2;
/** The result is valid for this long; then the broker may have been reconfigured to keep retained messages. */
const LEARNED_MS = HOUR_MS;
const RETAIN_NOT_SUPPORTED = 0x9a;

/** How an attempt with a retained will ended, if that says something about retained messages. */
export interface AttemptEnd {
  readonly wasOpen: boolean;
  readonly code: number | null;
  /** The CONNECT was sent, and the broker closed the connection without answering it. */
  readonly isConnectUnanswered: boolean;
}

/**
 * retained: the will is sent unchanged · probe: without retain, only to see whether the broker accepts that; the
 * session is not used · confirm: with retain again, at once · plain: nothing is retained.
 */
export type RetainMode = "retained" | "probe" | "confirm" | "plain";

/**
 * Detects that a broker keeps no retained messages and therefore refuses the CONNECT. MQTT 5 says so (0x9A). An MQTT
 * 3.1.1 broker only closes the connection, as it does for many other faults: the reason is confirmed if it accepts a
 * will without retain and then, tried again at once, still refuses the one with it.
 */
export class RetainSupport {
  readonly #clock: Pick<Clock, "monotonic">;
  #next: RetainMode = "retained";
  #silentRefusals = 0;
  #plainUntilMs = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** For the next CONNECT, whose will should be retained. */
  get mode(): RetainMode {
    if (this.#next === "plain" && this.#clock.monotonic() >= this.#plainUntilMs) this.#assume();
    return this.#next;
  }

  /** Records how that attempt ended; true if the next one should follow at once. */
  ended({ wasOpen, code, isConnectUnanswered }: AttemptEnd): boolean {
    switch (this.#next) {
      case "plain":
        return false;
      case "retained":
        // Of a broker that did not announce it, also after its CONNACK.
        if (code === RETAIN_NOT_SUPPORTED) return this.#give();
        this.#silentRefusals = isConnectUnanswered ? this.#silentRefusals + 1 : 0;
        if (this.#silentRefusals < SILENT_REFUSALS_MAX) return false;
        this.#next = "probe";
        return true;
      case "probe":
        if (!wasOpen) return this.#assume();
        this.#next = "confirm";
        return true;
      case "confirm":
        return isConnectUnanswered ? this.#give() : this.#assume();
    }
  }

  #assume(): false {
    this.#next = "retained";
    this.#silentRefusals = 0;
    return false;
  }
  #give(): true {
    this.#next = "plain";
    this.#plainUntilMs = this.#clock.monotonic() + LEARNED_MS;
    return true;
  }
}

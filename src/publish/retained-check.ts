/**
 * Detects that a broker has lost its retained messages, and sends the live topics again from the buffer. The agent's
 * own state is retained at every broker that it was ever connected to: a broker that has none has lost everything, or
 * is a new one. If the broker does not let us check, nothing is sent twice on suspicion.
 */

import type { Message } from "../core/message.ts";
import type { Clock, Logger, MessageLink } from "../core/ports.ts";
import { type Kind, readingKinds } from "../core/sensor.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { StoredReading } from "../core/stored-reading.ts";
import type { Profile } from "./formats/profile.ts";

export interface RetainedCheckParts {
  readonly link: MessageLink & {
    /** False if the broker refuses it or the session ends first. */
    subscribe(topic: string): Promise<boolean>;
  };
  readonly profile: Profile;
  readonly site: SiteSource;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Newest stored reading that is not flagged time_in_future; null if none. */
  readonly newest: (sensor: string, kind: Kind) => StoredReading | null;
  /** Time of the newest reading that went live in a format, ms; null if none did. */
  readonly liveMark: (format: "json" | "plain", sensor: string, kind: Kind) => number | null;
  /** True while the uplink has never published its sensors to a broker: nothing of it can have been lost there. */
  readonly isNew?: () => boolean;
}

/** Brokers send retained messages right after SUBACK; they are awaited for this long. */
const ANSWER_MS = 3000;
/** Messages in flight at once: they share the window with readings. */
const AT_ONCE = 20;
/**
 * Consecutive sessions that ended during the check: this broker ends sessions because of it, so it is not checked any
 * more.
 */
const STRIKES_MAX = 2;

interface Question {
  readonly session: number;
  readonly at: number;
  /** What had gone live before this session, by format, kind and sensor: what goes live in it needs no second message. */
  readonly marks: ReadonlyMap<string, number>;
  granted: boolean;
}

export class RetainedCheck {
  readonly #parts: RetainedCheckParts;
  /** Open until the broker has had its time to answer. */
  #question: Question | null = null;
  #isThere = false;
  #strikes = 0;

  constructor(parts: RetainedCheckParts) {
    this.#parts = parts;
  }

  /** Before anything retained is published in a session: a message that arrives then was retained before. */
  begin(): void {
    const { link, profile, clock } = this.#parts;
    const { marker } = profile;
    if (this.#question !== null) this.#strikes += 1;
    this.#question = null;
    if (marker === null || this.#strikes >= STRIKES_MAX || this.#parts.isNew?.()) return;
    this.#isThere = false;
    const question: Question = {
      session: link.session,
      at: clock.monotonic(),
      marks: this.#marks(),
      granted: false,
    };
    this.#question = question;
    void link.subscribe(marker).then((isGranted) => {
      question.granted = isGranted;
    });
  }

  /** `isRetained`: the broker had it when we subscribed; our own messages arrive without that flag. */
  received(topic: string, isRetained: boolean): void {
    if (isRetained && topic === this.#parts.profile.marker) this.#isThere = true;
  }

  /** Called from time to time while a session is open. */
  async look(): Promise<void> {
    const { link, clock, logger } = this.#parts;
    const question = this.#question;
    if (question === null || question.session !== link.session) return;
    if (clock.monotonic() - question.at < ANSWER_MS) return;
    this.#question = null;
    this.#strikes = 0;
    if (!question.granted || this.#isThere) return;
    const count = await this.#sendAgain(question.marks);
    if (count > 0)
      logger.info(
        { messages: count },
        "the broker lost its retained messages: publishing them again",
      );
  }

  #marks(): Map<string, number> {
    const { site, liveMark } = this.#parts;
    const marks = new Map<string, number>();
    for (const sensor of site.current.sensors) {
      const { code } = sensor;
      for (const kind of readingKinds(sensor)) {
        for (const format of FORMATS) {
          const mark = liveMark(format, code, kind);
          if (mark !== null) marks.set(keyOf(format, code, kind), mark);
        }
      }
    }
    return marks;
  }

  async #sendAgain(marks: ReadonlyMap<string, number>): Promise<number> {
    const { site, link } = this.#parts;
    let count = 0;
    let sending: Promise<unknown>[] = [];
    for (const sensor of site.current.sensors) {
      const { code } = sensor;
      for (const kind of readingKinds(sensor)) {
        // Read and sent in one go: a newer reading that is stored later is sent later.
        for (const message of this.#messages(code, kind, marks)) {
          sending.push(link.publish(message));
          count += 1;
        }
        if (sending.length < AT_ONCE) continue;
        await Promise.all(sending);
        sending = [];
      }
    }
    await Promise.all(sending);
    return count;
  }

  /** Nothing if a newer one has gone live since, or is pending in the outbox to go live from there. */
  #messages(sensor: string, kind: Kind, marks: ReadonlyMap<string, number>): Message[] {
    const { newest, liveMark, profile } = this.#parts;
    const formats = FORMATS.filter((format) => marks.has(keyOf(format, sensor, kind)));
    if (formats.length === 0) return [];
    const reading = newest(sensor, kind);
    if (reading === null) return [];
    return formats
      .filter(
        (format) =>
          marks.get(keyOf(format, sensor, kind)) === reading.timeMs &&
          liveMark(format, sensor, kind) === reading.timeMs,
      )
      .flatMap((format) => profile.encode[format]({ reading, live: true }))
      .filter(({ retain }) => retain);
  }
}

const FORMATS = ["json", "plain"] as const;
const keyOf = (format: string, sensor: string, kind: Kind): string => `${format} ${kind} ${sensor}`;

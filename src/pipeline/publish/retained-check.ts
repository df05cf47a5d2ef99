/**
 * Detects that a broker has lost its retained messages, and sends the live topics again from the buffer. The agent's
 * own state is retained at every broker that it was ever connected to: a broker that has none has lost everything, or
 * is a new one. If the broker does not grant the subscription, nothing is sent twice on suspicion.
 */

import type { Message } from "../../core/message.ts";
import type { Logger, MessageLink } from "../../core/ports.ts";
import { type Kind, readingKinds } from "../../core/sensor.ts";
import type { SiteSource } from "../../core/site-source.ts";
import type { StoredReading } from "../../core/stored-reading.ts";
import type { PayloadProfile } from "./formats/profile.ts";
import type { RetainedReader } from "./retained-query.ts";
import { BATCH, type Turns } from "./turns.ts";

export interface RetainedCheckParts {
  readonly link: Pick<MessageLink, "publish">;
  /** Gives way to the newest readings. */
  readonly turns: Pick<Turns, "next">;
  readonly profile: PayloadProfile;
  readonly site: SiteSource;
  readonly logger: Logger;
  /** Newest stored reading that is not flagged time_in_future; null if none. */
  readonly newest: (sensor: string, kind: Kind) => StoredReading | null;
  /** Time of the newest reading that went live in a format, ms; null if none did. */
  readonly liveMark: (format: "json" | "plain", sensor: string, kind: Kind) => number | null;
  /** True while the uplink has never published its sensors to a broker: nothing of it can have been lost there. */
  readonly isNew?: () => boolean;
}

export class RetainedCheck implements RetainedReader {
  readonly #parts: RetainedCheckParts;
  /**
   * What had gone live before this session, by format, kind and sensor: what goes live in it needs no second message.
   * Null once the check is done.
   */
  #marks: ReadonlyMap<string, number> | null = null;
  #isThere = false;

  constructor(parts: RetainedCheckParts) {
    this.#parts = parts;
  }

  begin(): string | null {
    const { isNew, profile } = this.#parts;
    if (profile.marker === null || isNew?.()) return null;
    this.#isThere = false;
    this.#marks = this.#marksNow();
    return profile.marker;
  }

  received(topic: string): void {
    if (topic === this.#parts.profile.marker) this.#isThere = true;
  }

  async look(isGranted: boolean): Promise<void> {
    const marks = this.#marks;
    this.#marks = null;
    if (marks === null || !isGranted || this.#isThere) return;
    const count = await this.#sendAgain(marks);
    if (count > 0)
      this.#parts.logger.info(
        { messages: count },
        "the broker lost its retained messages: publishing them again",
      );
  }

  #marksNow(): Map<string, number> {
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
    const { site, link, turns } = this.#parts;
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
        if (sending.length < BATCH) continue;
        await Promise.all(sending);
        await turns.next();
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

import { reasonName } from "../../core/delivery/reason-names.ts";
import type { Clock } from "../../core/ports.ts";
import { Backoff } from "../../lib/backoff.ts";
import { inOperatorWords, type LinkFailure, takenOver } from "./link-errors.ts";
import type { MqttLinkOptions } from "./link-options.ts";
import { ISOLATION_ACKS } from "./mqtt-session.ts";
import { PacketLimit } from "./packet-limit.ts";
import { type PublishRefusal, REFUSED_UNSPECIFIED } from "./publishes.ts";
import { ReconnectDelay } from "./reconnect-delay.ts";
import { mayMeanMessage, PACKET_TOO_LARGE, refusalRemedy } from "./refusals.ts";
import type { SessionEnd } from "./session-events.ts";

/**
 * Longest pause after a session that was lost: all clients lost it in the same moment. 1,000 boxes then return at 200 a
 * second or slower, which a small broker with TLS can handle.
 */
export const BACKOFF_MIN_MS = 5_000;
/** An attempt costs next to nothing, and after an outage everybody waits for it. */
export const BACKOFF_MAX_MS = 15_000;
/** After a take-over: two agents with the same id must not disconnect each other continuously. */
const TAKEOVER_BACKOFF_MIN_MS = 30_000;
/** Both may be agents and wait this long in turn: the thefts stay within one memory of each other. */
const TAKEOVER_BACKOFF_MAX_MS = 240_000;
/** A session this old was a good one: the next back-off starts small again. */
const STABLE_SESSION_MS = 30_000;
/**
 * This many consecutive sessions that the broker closed early: another client uses our id, or a message is the cause.
 */
const SHORT_SESSIONS_SUSPICIOUS = 3;
/** Sessions broken with publishes in flight before one message at a time is tried. */
const BROKEN_SESSIONS_ISOLATE = 2;

const SESSION_TAKEN_OVER = 0x8e;
const THEFT_MEMORY_MS = 600_000;

/** What earlier sessions and attempts teach for the next one. */
export class SessionHistory {
  readonly #clientId: string;
  readonly #options: Pick<MqttLinkOptions, "uplink" | "restartFiles">;
  readonly #limit: PacketLimit;
  readonly #delay: ReconnectDelay;
  readonly #takeoverBackoff = new Backoff(TAKEOVER_BACKOFF_MIN_MS, TAKEOVER_BACKOFF_MAX_MS);
  /** When the session was taken over last, ms of the monotonic clock, and whether it was not long after the time before. */
  #theftAtMs = Number.NEGATIVE_INFINITY;
  #isTheftRepeated = false;
  /** What is known of it, in words. */
  #theft = "";
  #shortSessions = 0;
  #brokenSessions = 0;
  /** Where the last session ended without a reason, one message at a time. */
  #suspect: string | null = null;

  readonly #clock: Pick<Clock, "monotonic">;

  constructor(options: MqttLinkOptions, clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
    this.#clientId = options.clientId;
    this.#options = options;
    this.#limit = new PacketLimit(clock);
    this.#delay = new ReconnectDelay({
      firstMs: options.backoffMinMs ?? BACKOFF_MIN_MS,
      maxMs: options.backoffMaxMs ?? BACKOFF_MAX_MS,
    });
  }

  /** The next session sends one message at a time, to find the one on which the broker closes the connection. */
  get shouldIsolate(): boolean {
    return this.#brokenSessions >= BROKEN_SESSIONS_ISOLATE;
  }
  /** Largest packet that the broker accepts, if learned, bytes. */
  get packetBytesMax(): number {
    return this.#limit.bytesMax;
  }

  /** How the session is ended again and again, as another client's taking it over does; until ten minutes after the last time. */
  get stolen(): string | null {
    if (!this.#isTheftRepeated || !this.#isTheftRecent()) return null;
    return inOperatorWords(this.#theft, this.#options);
  }

  /**
   * The publish that a session ended for. Without a reason, as over MQTT 3.1.1, it is the one at which two sessions in
   * succession ended: one alone may have been cut by chance.
   */
  culpritOf({ culprit, suspect = null, wasOpen }: SessionEnd): PublishRefusal | null {
    if (culprit) return culprit;
    const isAgain = suspect !== null && suspect === this.#suspect;
    if (wasOpen) this.#suspect = isAgain ? null : suspect;
    return isAgain ? { topic: suspect, code: REFUSED_UNSPECIFIED } : null;
  }

  /** Records the end; returns what to report. `livedMs` is null if no session was established. */
  judge(end: SessionEnd, livedMs: number | null, wasIsolated: boolean): LinkFailure | null {
    const culprit = end.culprit ?? null;
    if (livedMs !== null) {
      // A topic that is held back from now on is the cause, not another client.
      const isShort = livedMs < STABLE_SESSION_MS && end.byPeer && culprit === null;
      this.#shortSessions = isShort ? this.#shortSessions + 1 : 0;
    }
    if (wasIsolated && end.acks >= ISOLATION_ACKS) this.#brokenSessions = 1;
    // Others may be refused, too: they are found one message at a time.
    if (culprit !== null && end.code === null && !end.suspect) this.#brokenSessions = 0;
    else if (end.brokeWithInflight && mayMeanMessage(end.code)) this.#brokenSessions += 1;
    else if (livedMs !== null && livedMs >= STABLE_SESSION_MS) this.#brokenSessions = 0;
    const learned = this.#learnLimit(end);
    const byOther = takenOver(this.#clientId).text;
    if (end.code === SESSION_TAKEN_OVER && end.wasOpen)
      this.#noteTheft(`taken over again and again: ${byOther}`);
    if (end.failure === null) return null;
    let { text, needsHands } = end.failure;
    if (culprit !== null && end.suspect) {
      text = `the broker closes the connection at every publish to ${culprit.topic}, as RabbitMQ does where a right is missing: let this client write there`;
      needsHands = true;
    } else if (culprit !== null && end.code !== null) {
      text = `the broker ends the session at a publish to ${culprit.topic} (${reasonName(culprit.code)}): ${refusalRemedy(culprit.code, this.#clientId)}`;
      needsHands = true;
    } else if (culprit !== null) {
      text = `the broker closed the connection after it refused a publish to ${culprit.topic} (${reasonName(culprit.code)}; mosquitto does so with max_queued_messages 0): let this client write there, or correct the broker's configuration`;
      needsHands = true;
    } else if (
      end.code === null &&
      end.byPeer &&
      livedMs !== null &&
      this.#shortSessions >= SHORT_SESSIONS_SUSPICIOUS
    ) {
      const { unprovenTopic = null } = end;
      // What QoS 0 has sent is confirmed by nobody: a refused publish looks like a take-over.
      const cause =
        unprovenTopic === null
          ? `${byOther}, or a message is refused`
          : `it refuses a publish (the first went to ${unprovenTopic}: let this client write there), or ${byOther}`;
      text += `; this happens soon after each connect: ${cause}`;
      needsHands = true;
      // MQTT 3.1.1 has no code for it.
      this.#noteTheft(
        unprovenTopic === null
          ? `taken over again and again: ${byOther}`
          : `closed by the broker soon after each connect: ${cause}`,
      );
    }
    if (learned) text += `; packets of ${this.#limit.bytesMax + 1} bytes are not sent for an hour`;
    return { text: inOperatorWords(text, this.#options), needsHands };
  }

  /** The pause before the next attempt, ms. */
  pauseMs(end: SessionEnd): number {
    if (end.code === SESSION_TAKEN_OVER && end.wasOpen) return this.#takeoverBackoff.next();
    // We ended it for a reason that will also apply to the next session.
    const isFutile = !end.byPeer && end.failure?.needsHands === true;
    const isGood = end.wasOpen && !isFutile && (end.acks > 0 || this.#shortSessions === 0);
    if (isGood && this.#shortSessions < SHORT_SESSIONS_SUSPICIOUS) this.#delay.reset();
    if (end.wasOpen && this.#shortSessions === 0) this.#takeoverBackoff.reset();
    return this.#delay.next();
  }

  /** One alone may be a restart that overlaps. */
  #noteTheft(theft: string): void {
    this.#theft = theft;
    this.#isTheftRepeated = this.#isTheftRecent();
    this.#theftAtMs = this.#clock.monotonic();
  }

  #isTheftRecent(): boolean {
    return this.#clock.monotonic() - this.#theftAtMs < THEFT_MEMORY_MS;
  }

  #learnLimit(end: SessionEnd): boolean {
    if (end.code === PACKET_TOO_LARGE) {
      this.#limit.refused(Math.max(end.largestInflight, end.largestUnproven));
      return end.wasOpen;
    }
    if (!end.wasOpen) return false;
    return this.#limit.lost(end.byPeer && end.code === null ? end.largestUnproven : 0);
  }
}

import type { Message } from "../../core/message.ts";
import type { Clock } from "../../core/ports.ts";
import { MINUTE_MS } from "../../core/time-units.ts";
import { Backoff } from "../../lib/backoff.ts";
import type { MqttLinkOptions } from "./link-options.ts";
import { MqttSession } from "./mqtt-session.ts";
import { publishPacketBytes } from "./publish-writer.ts";
import type { Done } from "./publishes.ts";

/** Between two tries of a topic, ms; longer where many are refused. */
const TRY_MS = 10_000;
/** Refused tries within that time: each costs a connection. */
const REFUSED_MAX = 5;
/** A broker may want this client id alone: then such connections are rare. */
const UNUSABLE_MIN_MS = 5 * MINUTE_MS;
const UNUSABLE_MAX_MS = 60 * MINUTE_MS;
const DISCONNECT_MS = 1_000;
/** Larger ones wait for the session. */
const BYTES_MAX = 64 << 10;
const TOPICS_MAX = 1000;

interface Try {
  readonly message: Message;
  /** With which its topic is refused. */
  readonly code: number;
  readonly url: string;
  readonly retain: boolean;
  readonly done: Done;
}

/**
 * Topics whose refusal ends sessions are tried in short connections of their own, with the client id and `-try`: rights
 * that were corrected count within seconds, and the session of everything else goes on. Where rights hang on the client
 * id, only the session shows them.
 */
export class AsideTries {
  readonly #options: MqttLinkOptions;
  readonly #clock: Pick<Clock, "monotonic">;
  /** When each topic was tried last. */
  readonly #tried = new Map<string, number>();
  readonly #unusable = new Backoff(UNUSABLE_MIN_MS, UNUSABLE_MAX_MS);
  #unusableUntil = 0;
  #refusedAt: number[] = [];
  #waiting: Try[] = [];
  /** Topics of which a message has no answer yet, with the codes of their refusals. */
  readonly #underWay = new Map<string, number>();
  #session: MqttSession | null = null;
  #isRunning = false;
  #isClosed = false;

  constructor(options: MqttLinkOptions, clock: Pick<Clock, "monotonic">) {
    this.#options = { ...options, clientId: `${options.clientId}-try` };
    this.#clock = clock;
  }

  /** Of a topic of which a message is under way here, else null: a later one in the session would overtake it. */
  codeOf(topic: string): number | null {
    return this.#underWay.get(topic) ?? null;
  }

  /** False if it is not tried now; otherwise `done` is called once. */
  take(one: Try): boolean {
    const { topic, qos } = one.message;
    if (this.#underWay.has(topic)) return false;
    const at = this.#clock.monotonic();
    const triedAt = this.#tried.get(topic) ?? Number.NEGATIVE_INFINITY;
    if (this.#tried.size < TOPICS_MAX) this.#tried.set(topic, triedAt);
    this.#refusedAt = this.#refusedAt.filter((refusedAt) => at - refusedAt < TRY_MS);
    const waitMs = TRY_MS * Math.max(1, this.#tried.size / REFUSED_MAX);
    const isDue =
      !this.#isClosed &&
      qos === 1 &&
      at >= this.#unusableUntil &&
      at - triedAt >= waitMs &&
      this.#refusedAt.length + this.#waiting.length < REFUSED_MAX &&
      publishPacketBytes(one.message, this.#options.version) <= BYTES_MAX;
    if (!isDue) return false;
    this.#tried.set(topic, at);
    this.#underWay.set(topic, one.code);
    const done: Done = (outcome) => {
      this.#underWay.delete(topic);
      one.done(outcome);
    };
    this.#waiting.push({ ...one, done });
    if (!this.#isRunning) void this.#run();
    return true;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let one = this.#waiting[0]; one !== undefined; one = this.#waiting[0]) {
      await this.#try(one);
      this.#waiting.shift();
    }
    this.#isRunning = false;
  }

  async #try({ message, url, retain, done }: Try): Promise<void> {
    if (this.#isClosed || this.#clock.monotonic() < this.#unusableUntil)
      return done({ result: "lost" });
    const session = new MqttSession(this.#options, url, { isolate: true, retain });
    this.#session = session;
    const end = await session.run(null, {
      onConnectSent: () => {},
      onMessage: () => {},
      onOpen: () => {
        const bytes = publishPacketBytes(message, this.#options.version);
        session.send(message, bytes, (outcome) => {
          if (outcome.result === "delivered") this.#accepted(message.topic);
          else this.#refusedAt.push(this.#clock.monotonic());
          done(outcome);
          // Not inside the callback of the answer: it is taken off the window after it.
          setImmediate(() => void session.disconnect(DISCONNECT_MS, false, null));
        });
      },
    });
    this.#session = null;
    if (end.wasOpen) return this.#unusable.reset();
    this.#unusableUntil = this.#clock.monotonic() + this.#unusable.next();
    done({ result: "lost" });
  }

  /** The others are tried without a wait. */
  #accepted(topic: string): void {
    for (const other of this.#tried.keys()) this.#tried.set(other, Number.NEGATIVE_INFINITY);
    this.#tried.delete(topic);
  }

  close(): void {
    this.#isClosed = true;
    this.#session?.abort("closed");
  }
}

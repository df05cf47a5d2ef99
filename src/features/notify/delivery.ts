/** Sends notices to one destination: in order, again until they are accepted, and never delaying anything else. */

import { triedAddresses } from "../../core/addresses/tried-addresses.ts";
import type { NotificationState } from "../../core/agent-status.ts";
import type { Runtime } from "../../core/ports.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import { Backoff } from "../../lib/backoff.ts";
import { withinMs } from "../../lib/time-limit.ts";
import type { Digest } from "./digest.ts";
import type { Notice } from "./notice.ts";

/**
 * Sends several notices in one message; rejects if the receiver did not accept them. Resolves to what is wrong although it
 * did, such as one recipient of several; null for nothing.
 */
export type Send = (notices: readonly Notice[], signal: AbortSignal) => Promise<string | null>;

/** Text that outlives the process. */
export interface DeliveryMemory {
  get(): string | null;
  set(text: string): void;
}

/** The receiver responded, and did not accept it. Its message contains no address. */
export class DeliveryRefused extends Error {
  /** It refused what the message says: the next one may be accepted. */
  readonly isAboutContent: boolean;
  /** How long the receiver asks to wait, ms. */
  readonly retryAfterMs: number;

  constructor(text: string, isAboutContent = false, retryAfterMs = 0) {
    super(text);
    this.isAboutContent = isAboutContent;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface DeliveryParts extends Runtime {
  readonly name: "webhook" | "email";
  readonly send: Send;
  readonly digest: Digest;
  /** Most notices of one message. */
  readonly togetherMax: number;
  /** What stands now; told after an outage that lasted longer than the notices that could wait, or than the process. */
  readonly standing: () => readonly Notice[];
  /** Records that something waits. */
  readonly memory: DeliveryMemory;
}

interface Attempt {
  readonly isAccepted: boolean;
  readonly isAboutContent: boolean;
  readonly trouble: string | null;
  readonly retryAfterMs: number;
}

const PENDING = "pending";
const RETRY_MIN_MS = 5_000;
const RETRY_MAX_MS = 600_000;
const CALL_TIMEOUT_MS = 20_000;

export class Delivery {
  readonly #parts: DeliveryParts;
  /** Taken from the digest, and not accepted yet. */
  #sending: readonly Notice[] = [];
  #failure: string | null = null;
  /** Dropped since the last message that was accepted. */
  #lost = 0;
  #wake: () => void = () => {};
  #wasPending: boolean;
  /** One notice a message, to find the one that is refused for what it says. */
  #isCautious = false;
  #accepted = 0;
  /** How many messages had been accepted when a notice was first refused for what it says. */
  readonly #refusedAt = new WeakMap<Notice, number>();

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
    this.#wasPending = parts.memory.get() === PENDING;
  }

  get state(): NotificationState {
    return { name: this.#parts.name, lastError: this.#failure };
  }

  add(notices: readonly Notice[]): void {
    const now = this.#parts.clock.monotonic();
    for (const notice of notices) this.#parts.digest.add(notice, now);
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, name } = this.#parts;
    const backoff = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
    if (this.#wasPending) this.add(this.#parts.standing());
    while (!signal.aborted) {
      if (this.#sending.length === 0 && !this.#take()) {
        await this.#untilDue(signal);
        continue;
      }
      const message = this.#sending.slice(0, this.#isCautious ? 1 : this.#parts.togetherMax);
      const tried = await this.#try(message, signal);
      const { isAccepted, isAboutContent, trouble } = tried;
      if (signal.aborted) return;
      if (isAccepted) {
        if (trouble !== null && trouble !== this.#failure)
          logger.warn({ detail: trouble }, `alarm ${name} arrives in part`);
        this.#failure = trouble;
        if (backoff.failures > 0) logger.info({}, `alarm ${name} works again`);
        backoff.reset();
        this.#sending = this.#sending.slice(message.length);
        this.#accepted += 1;
        if (this.#sending.length === 0) this.#isCautious = false;
        continue;
      }
      this.#failure = trouble;
      this.#record(true);
      if (backoff.failures === 0)
        logger.warn({ detail: trouble }, `alarm ${name} failed; trying again`);
      const waitMs = Math.max(backoff.next(), tried.retryAfterMs);
      if (isAboutContent) {
        this.#putBack(message);
        await this.#waitForNews(waitMs, signal);
      } else await clock.sleep(waitMs, signal);
      this.#takeWhileFailing();
    }
  }

  /** A test message; null if the receiver accepted it as a whole. */
  async test(notice: Notice, signal: AbortSignal): Promise<string | null> {
    return (await this.#try([notice], signal)).trouble;
  }

  #take(): boolean {
    const { clock, digest, logger, name, standing } = this.#parts;
    const taken = digest.take(clock.monotonic());
    this.#lost += digest.takeDropped();
    if (this.#lost > 0 && taken.length > 0) {
      logger.error(
        { lost: this.#lost },
        `alarm ${name}: too many events to wait; what stands is sent`,
      );
      const keys = new Set(taken.map(({ key }) => key));
      this.#sending = [...standing().filter(({ key }) => !keys.has(key)), ...taken];
      this.#lost = 0;
    } else this.#sending = taken;
    return this.#sending.length > 0;
  }

  /** What comes during an outage goes into the same message, so that it does not take a digest's length each. */
  #takeWhileFailing(): void {
    const before = this.#sending;
    const news = this.#take() ? this.#sending : [];
    const refusedFrom = before.findIndex((notice) => this.#refusedAt.has(notice));
    const at = refusedFrom === -1 ? before.length : refusedFrom;
    this.#sending = [...before.slice(0, at), ...news, ...before.slice(at)];
  }

  /** One that is refused for what it says waits behind all others, and is dropped if the receiver accepts those. */
  #putBack(message: readonly Notice[]): void {
    const { logger, name } = this.#parts;
    this.#isCautious = true;
    const [notice, ...others] = message;
    if (notice === undefined || others.length > 0) return;
    const before = this.#refusedAt.get(notice) ?? this.#accepted;
    this.#refusedAt.set(notice, before);
    const rest = this.#sending.slice(1);
    const isDropped = this.#accepted > before;
    if (isDropped)
      logger.error(
        { text: notice.text },
        `alarm ${name}: a message that is refused alone is dropped`,
      );
    this.#sending = isDropped ? rest : [...rest, notice];
  }

  /** A receiver's message may repeat an address with a secret in it: only the kind of failure is reported. */
  async #try(message: readonly Notice[], signal: AbortSignal): Promise<Attempt> {
    try {
      const trouble = await withinMs(signal, CALL_TIMEOUT_MS, (limited) =>
        this.#parts.send(message, limited),
      );
      return { isAccepted: true, isAboutContent: false, trouble, retryAfterMs: 0 };
    } catch (error) {
      const { isAboutContent, retryAfterMs } =
        error instanceof DeliveryRefused ? error : { isAboutContent: false, retryAfterMs: 0 };
      return { isAccepted: false, isAboutContent, trouble: failureKind(error), retryAfterMs };
    }
  }

  /** A restart loses the notices that wait, and then what stands is told. */
  #record(isPending: boolean): void {
    if (isPending === this.#wasPending) return;
    this.#wasPending = isPending;
    this.#parts.memory.set(isPending ? PENDING : "");
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const { clock, digest } = this.#parts;
    const dueMs = digest.dueMs();
    this.#record(digest.isWaiting);
    const waitMs = dueMs === null ? NOTHING_DUE_MS : Math.max(0, dueMs - clock.monotonic());
    await this.#waitForNews(waitMs, signal);
  }

  /** Ends with the next notice. */
  async #waitForNews(waitMs: number, signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const both = AbortSignal.any([signal, waiting.signal]);
    await Promise.race([woken, this.#parts.clock.sleep(waitMs, both)]);
    waiting.abort();
    this.#wake = () => {};
  }
}

/** With nothing to tell, the loop looks again after this long. */
const NOTHING_DUE_MS = HOUR_MS;

/** Codes of a certificate that is not trusted say what to do. */
export function failureKind(error: unknown): string {
  if (error instanceof DeliveryRefused) return error.message;
  if (!(error instanceof Error)) return "failed";
  const { cause } = error;
  const code: unknown =
    Reflect.get(error, "code") ?? (cause instanceof Error ? Reflect.get(cause, "code") : null);
  return `${typeof code === "string" ? code : error.name}${triedAddresses(error)}`;
}

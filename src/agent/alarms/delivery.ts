/** Alarm events for people without MQTT: a webhook and a mailbox, one each, off unless configured (ALARM_…). */
import type { Settings } from "../../config/settings.ts";
import { type AlarmEvent, eventPayload, eventText } from "../../core/alarm/event.ts";
import type { Clock, Logger } from "../../core/ports.ts";
import { Backoff } from "../../lib/backoff.ts";

/** Sends several events at once; rejects if the receiver did not accept them. */
export type Send = (events: readonly AlarmEvent[], signal: AbortSignal) => Promise<void>;

export interface DeliveryParts {
  readonly name: "webhook" | "email";
  readonly send: Send;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Limit of waiting events; beyond it the oldest are dropped: the event topic has them all. */
const WAITING_MAX = 500;
/** Events per call or mail: a gateway that stops makes every sensor silent at once. */
const TOGETHER_MAX = 50;
const RETRY_MIN_MS = 5_000;
const RETRY_MAX_MS = 600_000;
/** Attempts before the waiting events of one delivery are dropped. */
const TRIES_MAX = 12;
const CALL_TIMEOUT_MS = 20_000;

/** Sends events in order, retries, and never delays anything else. */
export class AlarmDelivery {
  readonly #parts: DeliveryParts;
  #waiting: AlarmEvent[] = [];
  #lost = 0;
  #wake: () => void = () => {};

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  /** Nobody is notified about historical events or shelved alarms. */
  add(events: readonly AlarmEvent[]): void {
    const meant = events.filter(({ historical, shelved }) => !historical && shelved === null);
    if (meant.length === 0) return;
    this.#waiting.push(...meant);
    const tooMany = this.#waiting.length - WAITING_MAX;
    if (tooMany > 0) {
      this.#waiting.splice(0, tooMany);
      this.#lost += tooMany;
    }
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, name } = this.#parts;
    const backoff = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
    while (!signal.aborted) {
      if (this.#waiting.length === 0) {
        await this.#news(signal);
        continue;
      }
      const batch = this.#waiting.slice(0, TOGETHER_MAX);
      const failure = await this.#try(batch, signal);
      if (signal.aborted) return;
      if (failure === null) {
        if (backoff.failures > 0) logger.info({}, `alarm ${name} works again`);
        backoff.reset();
        this.#done(batch);
        continue;
      }
      if (backoff.failures === 0) {
        logger.warn({ detail: failure }, `alarm ${name} failed; trying again`);
      }
      const waitMs = backoff.next();
      if (backoff.failures >= TRIES_MAX) {
        this.#lost += batch.length;
        logger.error({ lost: this.#lost }, `alarm ${name}: giving up on events`);
        backoff.reset();
        this.#done(batch);
      }
      await clock.sleep(waitMs, signal);
    }
  }

  #done(batch: readonly AlarmEvent[]): void {
    const sent = new Set(batch);
    this.#waiting = this.#waiting.filter((event) => !sent.has(event));
  }

  /**
   * Null if it worked. A receiver's message may repeat an address with a secret in it: only the kind of failure is
   * reported.
   */
  async #try(batch: readonly AlarmEvent[], signal: AbortSignal): Promise<string | null> {
    try {
      await this.#parts.send(
        batch,
        AbortSignal.any([signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]),
      );
      return null;
    } catch (error) {
      if (error instanceof DeliveryRefused) return error.message;
      const code: unknown =
        error instanceof Error ? (Reflect.get(error, "code") ?? error.name) : null;
      return typeof code === "string" ? code : "failed";
    }
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        this.#wake = () => {};
        resolve();
      };
      this.#wake = done;
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

/** The receiver responded, and did not accept it. Its message contains no address. */
class DeliveryRefused extends Error {}

/** Posts `{"site","events":[payload, …]}`; any 2xx response accepts them. */
export function webhook(url: string, site: () => string): Send {
  return async (events, signal) => {
    const payloads = events.map((event) => eventPayload(event.id, site(), eventText(event)));
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{"site":${JSON.stringify(site())},"events":[${payloads.join(",")}]}`,
      redirect: "error",
      signal,
    });
    await response.body?.cancel();
    if (!response.ok) throw new DeliveryRefused(`the server returned HTTP ${response.status}`);
  };
}

export interface Mailbox {
  readonly url: string;
  readonly from: string;
  readonly to: string;
}

/** One mail with a sentence per event. */
export function email({ url, from, to }: Mailbox, site: () => string): Send {
  return async (events) => {
    // Loaded only if a mailbox is configured.
    const { createTransport } = await import("nodemailer");
    const transport = createTransport({
      url,
      connectionTimeout: CALL_TIMEOUT_MS,
      greetingTimeout: CALL_TIMEOUT_MS,
      socketTimeout: CALL_TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    try {
      const [first] = events;
      const rest = events.length === 1 ? "" : ` and ${events.length - 1} more`;
      await transport.sendMail({
        from,
        to,
        subject: `[${site()}] ${first?.text ?? "alarm"}${rest}`
          .replace(/\p{Cc}+/gu, " ")
          .slice(0, 200),
        text: events
          .map(({ text, timeMs, id }) => `${new Date(timeMs).toISOString()}  ${text}\n  id ${id}`)
          .join("\n\n"),
      });
    } finally {
      transport.close();
    }
  };
}

/** Those that the settings enable. */
export function createDeliveries(
  { alarmWebhookUrl, alarmEmail }: Settings,
  site: () => string,
  parts: { readonly clock: Clock; readonly logger: Logger },
): AlarmDelivery[] {
  const deliveries: AlarmDelivery[] = [];
  if (alarmWebhookUrl !== null) {
    const send = webhook(alarmWebhookUrl, site);
    deliveries.push(new AlarmDelivery({ name: "webhook", send, ...parts }));
  }
  if (alarmEmail !== null) {
    const send = email(alarmEmail, site);
    deliveries.push(new AlarmDelivery({ name: "email", send, ...parts }));
  }
  return deliveries;
}

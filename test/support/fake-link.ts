import type { Message, PublishOutcome } from "../../src/core/message.ts";
import type { MessageLink } from "../../src/core/ports.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Turns } from "../../src/pipeline/publish/turns.ts";

/** A link by hand: it delivers every message, and the broker grants every subscription, unless a test says otherwise. */
export class FakeLink implements MessageLink {
  readonly inflightMax = 100;
  session = 1;
  isConnected = true;
  /** Every message, in order. */
  messages: Message[] = [];
  /** The topics of each SUBSCRIBE. */
  readonly subscribed: (readonly string[])[] = [];
  outcome: (message: Message) => PublishOutcome = () => ({ result: "delivered" });
  granted: (topics: readonly string[]) => readonly string[] = (topics) => topics;

  ready(signal: AbortSignal): Promise<boolean> {
    return Promise.resolve(!signal.aborted);
  }

  publish(message: Message): Promise<PublishOutcome> {
    this.messages.push(message);
    return Promise.resolve(this.outcome(message));
  }

  subscribe(topics: readonly string[]): Promise<readonly string[]> {
    this.subscribed.push(topics);
    return Promise.resolve(this.granted(topics));
  }

  /** Contents of the messages of one topic, in order. */
  payloads(topic: string): Record<string, unknown>[] {
    const found = this.messages.filter((message) => message.topic === topic);
    return found.map(({ payload }) => JSON.parse(String(payload)));
  }

  get topics(): string[] {
    return this.messages.map(({ topic }) => topic);
  }
}

/** Turns on a link without readings. */
export const turnsOver = (link: MessageLink): Turns =>
  new Turns({
    link,
    clock: systemClock,
    readings: { hasLive: false, liveSent: () => Promise.resolve() },
  });

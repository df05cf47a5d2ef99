/**
 * Another agent that publishes as the same site at this broker, as after a copied configuration: both would overwrite each
 * other's states. It is seen on `agent/state`, which names the instance and the run that published it, and on `agent/stats`. While it was seen lately, our own
 * state is repeated, so that the other one learns of us, too.
 */

import type { Message } from "../../core/message.ts";
import { parsedObject } from "../../core/parsed-json.ts";
import type { Clock, Logger } from "../../core/ports.ts";
import type { JsonObject } from "../../core/record.ts";
import type { RetainedReader } from "./retained-query.ts";

export interface OtherAgentsParts {
  /** The topic of the agent's state; null if nothing may be read. */
  readonly marker: string | null;
  /** The topic of its statistics. */
  readonly statsTopic: string;
  readonly site: string;
  /** Our own, 12 hex digits. */
  readonly instance: string;
  /** Of this process: a copy of our data directory has our instance and another run. */
  readonly run: string;
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: Logger;
  /** Of all uplinks of this agent. */
  readonly states: SentStates;
  readonly uplink: string;
}

/** It counts as there for this long after its last state, ms: three repetitions. */
const SEEN_MS = 180_000;
/** Our own state is repeated at this interval meanwhile, ms. */
const REPEAT_MS = 60_000;
/** A longer payload is no state of an agent, bytes. */
const PAYLOAD_MAX = 65_536;
const RUN = /^[0-9a-f]{8}$/;
/** Own states of an uplink that may still come back. */
const OWN_MAX = 16;

/** What the uplinks of this agent published as its state: one that hears another's text has the same topics at the same broker. */
export class SentStates {
  /** A copied data directory has the same instance, but not the same texts. */
  readonly #texts = new Map<string, readonly string[]>();
  readonly #neighbours = new Map<string, Set<string>>();

  add(uplink: string, texts: readonly string[]): void {
    this.#texts.set(uplink, [...(this.#texts.get(uplink) ?? []), ...texts].slice(-OWN_MAX));
  }

  /**
   * Which uplink published what `uplink` hears; null if none did. At two brokers two may have said the same in the same
   * millisecond: then it was the own one.
   */
  senderOf(text: string, uplink: string): string | null {
    if (this.#texts.get(uplink)?.includes(text)) return uplink;
    for (const [other, texts] of this.#texts) if (texts.includes(text)) return other;
    return null;
  }

  /** Returns whether that was not known. */
  meet(uplink: string, other: string): boolean {
    if (this.neighboursOf(uplink).has(other)) return false;
    for (const [a, b] of [[uplink, other] as const, [other, uplink] as const])
      this.#neighbours.set(a, new Set(this.neighboursOf(a)).add(b));
    return true;
  }

  /** Seen at the same broker under the same prefix, whatever their addresses say. */
  neighboursOf(uplink: string): ReadonlySet<string> {
    return this.#neighbours.get(uplink) ?? new Set();
  }
}

export class OtherAgents implements RetainedReader {
  /** Another's statistics, which it publishes each minute; not our own. */
  readonly statistics: RetainedReader;
  readonly #parts: OtherAgentsParts;
  #seen: (Pick<Announced, "instance" | "run"> & { readonly at: number }) | null = null;
  #sentAt = Number.NEGATIVE_INFINITY;
  #isOverwritten = false;
  #sessions = 0;

  constructor(parts: OtherAgentsParts) {
    this.#parts = parts;
    this.statistics = {
      isOthersOnly: true,
      begin: () => (parts.marker === null ? null : parts.statsTopic),
      received: () => {},
      look: async () => {},
    };
  }

  begin(): string | null {
    this.#sessions += 1;
    return this.#parts.marker;
  }
  received(): void {}
  async look(): Promise<void> {}

  /** Our own state, before it is published. */
  sending(messages: readonly Message[]): void {
    const { states, uplink } = this.#parts;
    const texts = messages.map(({ payload }) => String(payload));
    states.add(uplink, texts);
    this.#sentAt = this.#parts.clock.monotonic();
    this.#isOverwritten = false;
  }

  /** Every inbound message; `isRetained` if the broker had it before we subscribed. */
  heard(topic: string, payload: Uint8Array, isRetained: boolean): void {
    const { marker, instance, states, statsTopic, uplink } = this.#parts;
    if (payload.length === 0 || payload.length > PAYLOAD_MAX) return;
    const text = Buffer.from(payload).toString();
    if (topic === statsTopic && !isRetained) this.#heardStatistics(text);
    if (topic !== marker) return;
    const sender = states.senderOf(text, uplink);
    if (sender === uplink) return;
    const announced = stateOf(text);
    if (announced === null) return;
    if (sender !== null) this.#meet(sender);
    const isOurs = announced.instance === instance;
    if (announced.state === "offline") {
      // The other one has left, or an old session of ours has ended: the topic must not stay like that.
      if (!isRetained) this.#isOverwritten = true;
      // One that stands there since before our first session is a former installation. Later it has published between two
      // of ours, as one does that uses our client id.
      if (isRetained && !isOurs && this.#sessions > 1) this.#see(announced);
      else if (this.#seen?.instance === announced.instance) this.#seen = null;
      return;
    }
    if (sender !== null) return;
    if (!isOurs || !isRetained) this.#see(announced);
  }

  /** They name no instance. */
  #heardStatistics(text: string): void {
    const run = runOf(parsedObject(text) ?? {});
    if (run !== null && run !== this.#parts.run)
      this.#see({ instance: this.#seen?.run === run ? this.#seen.instance : null, run });
  }

  #meet(other: string): void {
    const { logger, states, uplink } = this.#parts;
    if (states.meet(uplink, other))
      logger.warn(
        { uplinks: [uplink, other] },
        "two uplinks publish the same topics at one broker; use a different topicPrefix for each",
      );
  }

  /** Another uplink of this agent publishes the same topics at this broker. */
  get hasNeighbour(): boolean {
    return this.#parts.states.neighboursOf(this.#parts.uplink).size > 0;
  }

  #see({ instance, run }: Pick<Announced, "instance" | "run">): void {
    const { clock, logger, site } = this.#parts;
    if (this.current === null)
      logger.error({ site, instance, run }, "another agent publishes as this site");
    this.#seen = { instance, run, at: clock.monotonic() };
  }

  /** True if our own state is to be published again now. */
  get isRepeatDue(): boolean {
    if (this.#isOverwritten) return true;
    return this.current !== null && this.#parts.clock.monotonic() - this.#sentAt >= REPEAT_MS;
  }

  /** What is wrong, and what to do; null if no other agent was seen lately. */
  get current(): string | null {
    const seen = this.#seen;
    if (seen === null || this.#parts.clock.monotonic() - seen.at > SEEN_MS) return null;
    const { instance, run, site } = this.#parts;
    if (seen.instance === instance)
      return `another agent runs with a copy of this data directory (instance ${instance}, run ${seen.run ?? "unknown"}; this is run ${run}) and publishes as site ${site} at this broker; stop one of them, and give the other a name ("site" in its site file) and DATA_DIR of its own`;
    return `another agent (${seen.instance === null ? `run ${seen.run}` : `instance ${seen.instance}`}) publishes as site ${this.#parts.site} at this broker; give one of them another name ("site" in its site file), or stop it`;
  }
}

/** The instance whose state says online; null for anything else. */
export function onlineInstance(payload: Uint8Array): string | null {
  if (payload.length > PAYLOAD_MAX) return null;
  const announced = stateOf(Buffer.from(payload).toString());
  return announced?.state === "online" ? announced.instance : null;
}

interface Announced {
  readonly state: string;
  /** Null where only its run is known. */
  readonly instance: string | null;
  /** Null of an agent before 0.4. */
  readonly run: string | null;
}

/** Null for what agents from 0.3 on do not publish. */
function stateOf(text: string): (Announced & { readonly instance: string }) | null {
  const announced = parsedObject(text) ?? {};
  const { state, instance } = announced;
  if (typeof instance !== "string" || !/^[0-9a-f]{12}$/.test(instance)) return null;
  if (state !== "online" && state !== "offline") return null;
  return { state, instance, run: runOf(announced) };
}

function runOf({ run }: JsonObject): string | null {
  return typeof run === "string" && RUN.test(run) ? run : null;
}

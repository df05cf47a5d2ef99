import type { AgentStatus, SensorState } from "../../core/agent-status.ts";
import type { Will } from "../../core/delivery/link.ts";
import type { Message, PublishOutcome } from "../../core/message.ts";
import type { GapLog, MessageLink, Runtime } from "../../core/ports.ts";
import type { Descriptions } from "./descriptions.ts";
import type { PayloadProfile } from "./formats/profile.ts";
import type { OtherAgents } from "./other-agents.ts";
import type { ReadBack } from "./read-back.ts";
import type { RetainedQuery } from "./retained-query.ts";
import { configurationOf, healthOf } from "./status-changes.ts";
import type { Turns } from "./turns.ts";

export interface PresenceParts extends Runtime {
  readonly link: MessageLink;
  readonly gaps: GapLog;
  readonly status: () => AgentStatus;
  readonly sensors: () => readonly SensorState[];
  /** Turns all of it into messages. */
  readonly profile: PayloadProfile;
  /** Between two states of a sensor that differ in the time of its last reading alone; a minute unless given. */
  readonly stateRefreshMs?: number;
  /** What else stands at the broker. */
  readonly board: { online(): Promise<void>; renew(): Promise<void> };
  readonly descriptions: Pick<Descriptions, "entitiesRemoved" | "sync" | "renew">;
  /** Gives way to the newest readings. */
  readonly turns: Pick<Turns, "publish">;
  /** Whether another agent publishes as this site. */
  readonly others: Pick<OtherAgents, "sending" | "heard" | "isRepeatDue">;
  /** Whether the broker passes our state on. */
  readonly readBack: Pick<ReadBack, "sending" | "heard" | "isRepeatDue">;
  /** Reads back what the broker retains. */
  readonly retained: Pick<RetainedQuery, "begin" | "received" | "look" | "ended">;
}

/** Contract section 6: statistics every minute, and immediately when something fails or recovers. */
const STATS_MS = 60_000;
/** Interval at which sensor states are compared and gaps are searched. */
const TICK_MS = 5000;
/** A refused `agent/state` is tried again after this time, because the broker's access list may be corrected meanwhile. */
const REFUSED_RETRY_MS = 300_000;
/**
 * Without retained messages, states are sent again this long after entities were announced: Home Assistant subscribes to
 * what an entity needs once it has processed the announcement (its documentation: "the state topics will need an
 * update").
 */
const ANNOUNCED_MS = 10_000;
/** Interval at which `lastReading` of an unchanged state is updated. */
const REFRESH_MS = 60_000;
const GAPS_PER_TICK = 100;

/** What the broker has acknowledged about a sensor in this session. */
interface Published {
  /** A reload may move it. */
  readonly topic: string;
  readonly state: string;
  readonly battery: number | null;
  readonly firmware: string | number | null | undefined;
  readonly signalDbm: number | null | undefined;
  readonly lastReadingMs: number | null;
  readonly at: number;
}

/** What subscribers can know without a reading: agent and sensor states, statistics, gaps. */
export class Presence {
  readonly #parts: PresenceParts;
  readonly #published = new Map<string, Published>();
  #reason = "started";
  #publishedConfiguration = "";
  /** Monotonic ms; null if they need not be sent again. */
  #renewStatesAt: number | null = null;
  /** When the broker refused the agent's own state, monotonic ms; null if it has it. */
  #stateRefusedAt: number | null = null;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
  }

  /**
   * The will; null if the platform accepts none. Its time is that of the CONNECT, because the end is not known in
   * advance.
   */
  will(): Will | null {
    const timeMs = this.#parts.clock.now();
    return this.#parts.profile.will({ state: "offline", timeMs, reason: "connection lost" });
  }

  /** The last messages before a clean disconnect. */
  offline(reason: string): readonly Message[] {
    return this.#state("offline", reason);
  }

  /** Before them, if the uplink leaves its broker for good. */
  entitiesRemoved(): readonly Message[] {
    return this.#parts.descriptions.entitiesRemoved();
  }

  /** For `onConnected`: online, then every sensor's state, because the broker may have lost all of them. */
  async online(): Promise<void> {
    this.#published.clear();
    // Before our own state is published: otherwise it would be taken for an old one.
    this.#parts.retained.begin();
    const messages = this.#state("online", this.#reason);
    this.#reason = "reconnected";
    this.#publishedConfiguration = configurationOf(this.#parts.status());
    this.#sending(messages);
    // Not in turn: publishers wait for it.
    const outcomes = await Promise.all(
      messages.map((message) => this.#parts.link.publish(message)),
    );
    this.#stateSent(messages, outcomes);
  }

  /** For `onDisconnected`. */
  disconnected(): void {
    this.#parts.retained.ended();
  }

  async #sendState(reason: string): Promise<void> {
    const messages = this.#state("online", reason);
    this.#sending(messages);
    this.#stateSent(messages, await this.#parts.turns.publish(messages));
  }

  #sending(messages: readonly Message[]): void {
    this.#parts.others.sending(messages);
    this.#parts.readBack.sending(messages);
  }

  #stateSent(messages: readonly Message[], outcomes: readonly PublishOutcome[]): void {
    for (const [i, message] of messages.entries()) this.#report(message, outcomes[i]);
    const isRefused = outcomes.some(({ result }) => result === "refused");
    this.#stateRefusedAt = isRefused ? this.#parts.clock.monotonic() : null;
  }

  /** The state that the broker refused or that another agent may have overwritten, again. */
  async #repeatState(): Promise<void> {
    const { clock, others, readBack } = this.#parts;
    const refusedAt = this.#stateRefusedAt;
    const isRetryDue = refusedAt !== null && clock.monotonic() - refusedAt >= REFUSED_RETRY_MS;
    if (isRetryDue || (refusedAt === null && (others.isRepeatDue || readBack.isRepeatDue)))
      await this.#sendState(this.#reason);
  }

  async #renewStates(): Promise<void> {
    const at = this.#renewStatesAt;
    if (at === null || this.#parts.clock.monotonic() < at) return;
    this.#renewStatesAt = null;
    this.#published.clear();
    await this.#sendState(this.#reason);
  }

  /** The configuration in effect has changed, or changes now wait for a restart. */
  async #publishConfiguration(status: AgentStatus): Promise<void> {
    const now = configurationOf(status);
    if (now === this.#publishedConfiguration) return;
    this.#publishedConfiguration = now;
    await this.#sendState("reconfigured");
  }

  /** Every inbound message. */
  received(topic: string, payload: Uint8Array, isRetained = false): void {
    const { profile, descriptions, others, readBack, retained } = this.#parts;
    readBack.heard(topic, payload);
    retained.received(topic, payload, isRetained);
    others.heard(topic, payload, isRetained);
    if (profile.wantsDescriptions(topic, payload)) descriptions.renew();
  }

  async #describe(): Promise<void> {
    const { clock, descriptions, profile } = this.#parts;
    const hasAnnounced = await descriptions.sync();
    if (hasAnnounced && profile.marker === null)
      this.#renewStatesAt = clock.monotonic() + ANNOUNCED_MS;
  }

  /** Needs no connection: what cannot be sent now is sent after the next one. */
  async run(signal: AbortSignal): Promise<void> {
    const { link, clock } = this.#parts;
    let session = -1;
    let statsAt = Number.NEGATIVE_INFINITY;
    let published = "";
    while (await link.ready(signal)) {
      const status = this.#parts.status();
      const health = healthOf(status);
      // A change does not wait for the minute: the last statistics are retained, and would be the first that a
      // subscriber sees.
      const isDue = clock.monotonic() - statsAt >= STATS_MS || health !== published;
      const isNew = link.session !== session;
      session = link.session;
      if (isNew) await this.#parts.board.online();
      else if (isDue) await this.#parts.board.renew();
      if (isNew || isDue) {
        statsAt = clock.monotonic();
        published = health;
        await this.#publishStats(status);
      }
      await this.#renewStates();
      await this.#publishConfiguration(status);
      await this.#repeatState();
      await this.#publishSensors();
      await this.#describe();
      await this.#parts.retained.look();
      await this.#publishGaps();
      const untilStats = STATS_MS - (clock.monotonic() - statsAt);
      await clock.sleep(Math.max(1, Math.min(TICK_MS, untilStats)), signal);
    }
  }

  #state(state: "online" | "offline", reason: string): readonly Message[] {
    const { profile, clock, status } = this.#parts;
    const { configuration, pendingRestart } = status();
    return profile.agentState({
      state,
      timeMs: clock.now(),
      reason,
      configuration,
      pendingRestart,
    });
  }

  async #publishStats(status: AgentStatus): Promise<void> {
    await this.#publish(this.#parts.profile.stats(status));
  }

  async #publishSensors(): Promise<void> {
    const { clock, profile, stateRefreshMs: refreshMs = REFRESH_MS } = this.#parts;
    const sensors = this.#parts.sensors();
    const now = clock.monotonic();
    // Retained messages of a removed sensor are cleared: if it returns, everything is published again.
    const codes = new Set(sensors.map(({ code }) => code));
    for (const code of this.#published.keys()) if (!codes.has(code)) this.#published.delete(code);
    const due = sensors.flatMap((sensor) => {
      const last = this.#published.get(sensor.code);
      const topic = profile.topics.sensorState(sensor.code);
      const isFresh =
        last !== undefined &&
        last.topic === topic &&
        last.state === sensor.state &&
        last.battery === sensor.batteryV &&
        last.firmware === sensor.firmware &&
        last.signalDbm === sensor.signalDbm &&
        (last.lastReadingMs === sensor.lastReadingMs || now - last.at < refreshMs);
      return isFresh ? [] : [{ sensor, topic }];
    });
    const outcomes = await this.#sendEach(due.map(({ sensor }) => profile.sensorState(sensor)));
    for (const [i, { sensor, topic }] of due.entries()) {
      // Lost ones are sent again; refused ones would be refused at every tick.
      if (outcomes[i]?.some(({ result }) => result === "lost")) continue;
      this.#published.set(sensor.code, {
        topic,
        state: sensor.state,
        battery: sensor.batteryV,
        firmware: sensor.firmware,
        signalDbm: sensor.signalDbm,
        lastReadingMs: sensor.lastReadingMs,
        at: clock.monotonic(),
      });
    }
  }

  async #publishGaps(): Promise<void> {
    const { gaps, profile } = this.#parts;
    const pending = gaps.pendingGaps(GAPS_PER_TICK);
    if (pending.length === 0) return;
    const outcomes = await this.#sendEach(pending.map((gap) => profile.gap(gap)));
    const taken = pending.filter((_, i) =>
      outcomes[i]?.every(({ result }) => result === "delivered"),
    );
    if (taken.length > 0) gaps.settleGaps(taken.map((gap) => gap.gapId));
  }

  /** The outcomes of each subject's messages. */
  async #sendEach(subjects: readonly (readonly Message[])[]): Promise<PublishOutcome[][]> {
    const outcomes = await this.#parts.turns.publish(subjects.flat());
    return subjects.map((messages) => outcomes.splice(0, messages.length));
  }

  /** Logs what the broker refuses. */
  async #publish(messages: readonly Message[]): Promise<void> {
    const outcomes = await this.#parts.turns.publish(messages);
    for (const [i, message] of messages.entries()) this.#report(message, outcomes[i]);
  }

  #report({ topic }: Message, outcome: PublishOutcome | undefined): void {
    if (outcome?.result === "refused" || outcome?.result === "oversize")
      this.#parts.logger.warn({ topic, ...outcome }, "the broker refuses this message");
  }
}

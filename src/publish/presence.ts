import type {
  AgentStatus,
  Clock,
  GapLog,
  Logger,
  Message,
  MessageLink,
  SensorState,
} from "../core/ports.ts";
import type { Will } from "./link-options.ts";
import {
  agentStatePayload,
  gapPayload,
  sensorStatePayload,
  statsPayload,
} from "./presence-payloads.ts";
import { createTopics, type Topics } from "./topics.ts";

export interface PresenceParts {
  readonly link: MessageLink;
  readonly gaps: GapLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly status: () => AgentStatus;
  readonly sensors: () => readonly SensorState[];
}

export interface PresenceOptions {
  readonly prefix: string;
  readonly site: string;
  readonly version: string;
}

/** Contract 6: statistics every minute, and here also when something comes or goes. */
const STATS_MS = 60_000;
/** Sensor states are compared, and gaps looked for, this often. */
const TICK_MS = 5000;
/** `lastReading` of an unchanged state is brought up to date this often. */
const REFRESH_MS = 60_000;
const GAPS_PER_TICK = 100;

/** What the broker has taken of a sensor in this session. */
interface Published {
  readonly state: string;
  readonly battery: number | null;
  readonly lastReadingMs: number | null;
  readonly at: number;
}

/** What subscribers can know without a reading: agent and sensor states, statistics, gaps. */
export class Presence {
  readonly #parts: PresenceParts;
  readonly #options: PresenceOptions;
  readonly #topics: Topics;
  readonly #published = new Map<string, Published>();
  #reason = "started";

  constructor(parts: PresenceParts, options: PresenceOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#topics = createTopics(options.prefix, options.site);
  }

  /** The broker says this when we no longer can. Its time is the CONNECT's: nobody knows the end beforehand. */
  will(): Will {
    return { ...this.#state("offline", "connection lost"), qos: 1 };
  }

  /** The last message before a clean disconnect. */
  offline(reason: string): Message {
    return this.#state("offline", reason);
  }

  /** For `onConnected`: online, then every sensor's state, for the broker may have forgotten all of them. */
  async online(): Promise<void> {
    this.#published.clear();
    const outcome = this.#parts.link.publish(this.#state("online", this.#reason));
    this.#reason = "reconnected";
    this.#warn(await outcome, this.#topics.agentState);
  }

  /** Needs no connection: what cannot be sent now is sent after the next one. */
  async run(signal: AbortSignal): Promise<void> {
    const { link, clock } = this.#parts;
    let session = -1;
    let statsAt = Number.NEGATIVE_INFINITY;
    let told = "";
    while (await link.ready(signal)) {
      const status = this.#parts.status();
      const health = healthOf(status);
      // A change waits for no minute: what was told last is retained, and would be the first a subscriber hears.
      const isDue = clock.monotonic() - statsAt >= STATS_MS || health !== told;
      if (link.session !== session || isDue) {
        session = link.session;
        statsAt = clock.monotonic();
        told = health;
        await this.#publishStats(status);
      }
      await this.#publishSensors();
      await this.#publishGaps();
      const untilStats = STATS_MS - (clock.monotonic() - statsAt);
      await clock.sleep(Math.max(1, Math.min(TICK_MS, untilStats)), signal);
    }
  }

  #state(state: "online" | "offline", reason: string): Message {
    return {
      topic: this.#topics.agentState,
      payload: agentStatePayload(state, this.#parts.clock.now(), this.#options.version, reason),
      qos: 1,
      retain: true,
      contentType: "application/json",
    };
  }

  async #publishStats(status: AgentStatus): Promise<void> {
    const topic = this.#topics.agentStats;
    this.#warn(
      await this.#parts.link.publish({
        topic,
        payload: statsPayload(status),
        qos: 1,
        retain: true,
        contentType: "application/json",
      }),
      topic,
    );
  }

  async #publishSensors(): Promise<void> {
    const { link, clock } = this.#parts;
    await Promise.all(
      this.#parts.sensors().map(async (sensor) => {
        const last = this.#published.get(sensor.code);
        const isFresh =
          last !== undefined &&
          last.state === sensor.state &&
          last.battery === sensor.batteryV &&
          (last.lastReadingMs === sensor.lastReadingMs || clock.monotonic() - last.at < REFRESH_MS);
        if (isFresh) return;
        const outcome = await link.publish({
          topic: this.#topics.sensorState(sensor.code),
          payload: sensorStatePayload(sensor),
          qos: 1,
          retain: true,
          contentType: "application/json",
        });
        // Lost ones are sent again; refused ones would be refused every tick.
        if (outcome.result === "lost") return;
        this.#published.set(sensor.code, {
          state: sensor.state,
          battery: sensor.batteryV,
          lastReadingMs: sensor.lastReadingMs,
          at: clock.monotonic(),
        });
      }),
    );
  }

  async #publishGaps(): Promise<void> {
    const { link, gaps } = this.#parts;
    const pending = gaps.pendingGaps(GAPS_PER_TICK);
    if (pending.length === 0) return;
    const outcomes = await Promise.all(
      pending.map((gap) =>
        link.publish({
          topic: this.#topics.agentGap,
          payload: gapPayload(this.#options.site, gap),
          qos: 1,
          retain: false,
          contentType: "application/json",
        }),
      ),
    );
    const taken = pending.filter((_, i) => outcomes[i]?.result === "delivered");
    if (taken.length > 0) gaps.settleGaps(taken.map((gap) => gap.gapId));
  }

  #warn(outcome: Awaited<ReturnType<MessageLink["publish"]>>, topic: string): void {
    if (outcome.result === "refused" || outcome.result === "oversize") {
      this.#parts.logger.warn({ topic, ...outcome }, "the broker does not take this message");
    }
  }
}

/** What an operator is called for: it differs when something came or went. */
function healthOf({ gateway, links, buffer, clock }: AgentStatus): string {
  const sessions = links.map((link) => [link.isConnected, link.hostOnline ?? null]);
  const { isWritable, alarm } = buffer;
  return JSON.stringify([gateway.isUp, sessions, isWritable, alarm !== null, clock.isPlausible]);
}

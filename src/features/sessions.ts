/** Sessions of uplinks as features meet them: what they open, what they keep true at a broker, what comes in. */
import type { LinkState, SensorState } from "../core/agent-status.ts";
import type { InboundMessage, LinkNeeds, SessionLink } from "../core/delivery/link.ts";
import type { Message, PublishOutcome } from "../core/message.ts";
import type { Logger, MessageLink, Outbox, Runtime, WaveformReader } from "../core/ports.ts";
import type { Kind } from "../core/sensor.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { StoredReading } from "../core/stored-reading.ts";
import type { Topics } from "../core/topics/topics.ts";
import type { Uplink } from "../core/uplink.ts";
import type { UplinkMetrics } from "../lib/metrics.ts";
import type { Encode } from "../pipeline/publish/formats/encoder.ts";
import type { PayloadProfile } from "../pipeline/publish/formats/profile.ts";
import type { OtherAgents } from "../pipeline/publish/other-agents.ts";
import type { RetainedReader } from "../pipeline/publish/retained-query.ts";
import type { Turns } from "../pipeline/publish/turns.ts";

/** A session with JSON and plain topics, not yet connected. */
export interface UplinkSession {
  readonly uplink: Uplink;
  readonly isChosen: (sensor: string) => boolean;
  readonly outbox: Outbox;
  readonly profile: Pick<PayloadProfile, "marker" | "topics">;
  readonly link: MessageLink;
  /** Gives way to the newest readings. */
  readonly turns: Turns;
  readonly logger: Logger;
  /** Other agents that publish as this site. */
  readonly others: Pick<OtherAgents, "current" | "hasNeighbour">;
  /** All that run. */
  readonly uplinks: () => readonly Uplink[];
}

/** What a feature keeps true at the broker of such a session, beside readings and the states of sensors. */
export interface Standing {
  /** A session has begun, and its states are sent. */
  online?(): Promise<void>;
  /** Every few seconds from then on. */
  renew?(): Promise<void>;
  /** Of JSON payloads. */
  encoder?(encode: Encode): Encode;
  /** What they read back of the broker. */
  readonly readers?: readonly RetainedReader[];
  /** Descriptions after the box's, to which they refer, and before those of sensors, which refer to them. */
  describe?(): Promise<void>;
  /** A subscriber that stores nothing has restarted: everything is described again. */
  describeAgain?(): void;
  /** Works until aborted, or ends early. */
  run?(signal: AbortSignal): Promise<void>;
  /** What takes it back, where the uplink leaves its broker. */
  leaving?(): readonly Message[];
  /** That was acknowledged. */
  left?(): void;
}

/** A session that takes signed documents. */
export interface DocumentSession {
  readonly uplink: Pick<Uplink, "name" | "urls">;
  readonly topics: Pick<Topics, "siteDocument">;
  publish(message: Message): Promise<PublishOutcome>;
}

/** Signed documents that come in over `main`, and over uplinks that enable commands. */
export interface DocumentIntake {
  /** A session exists from now on, connected or not; one of the same uplink is replaced. */
  open(session: DocumentSession): void;
  /** It has connected: what the former one could not take is published. */
  connected(session: DocumentSession): void;
  close(session: DocumentSession): void;
  handle(message: InboundMessage, session: DocumentSession): void;
}

/** One session of an uplink: a way out of the buffer. */
export interface Destination {
  readonly state: LinkState;
  /** Messages acknowledged since the start. */
  readonly delivered: number;
  /** Publishes that did not succeed, by reason. */
  readonly failures: Readonly<Record<string, number>>;
  run(signal: AbortSignal): Promise<void>;
  /**
   * One message in the open session, whose refusal says nothing about the destination's own; absent if the format's sessions carry
   * nothing else.
   */
  publish?(message: Message): Promise<PublishOutcome>;
  /** Publishes the farewell and disconnects. */
  close(reason: string): Promise<void>;
}

/** An uplink for a format with a session of its own: what it selects, and where its readings wait. */
export interface Lane extends Runtime {
  readonly uplink: Uplink;
  /** The site file without what the uplink does not select. */
  readonly site: SiteSource;
  readonly isChosen: (sensor: string) => boolean;
  /** The newest stored reading of a sensor and kind, with the selected values; null if there is none. */
  readonly newest: (sensor: string, kind: Kind) => StoredReading | null;
  /** Those that it publishes, at most a second old. */
  readonly sensors: () => readonly SensorState[];
  readonly outbox: Outbox;
  readonly waveforms: WaveformReader;
  readonly metrics: UplinkMetrics;
  /** Whether settings for sensors are accepted from this broker. */
  readonly takesCommands: boolean;
  /** A session over the uplink's addresses, which opens when it runs. */
  createLink(needs: LinkNeeds): SessionLink;
}

/**
 * The payload format of an uplink: one object that turns everything into messages (plant section 10 "Profiles"). The
 * publisher sends the messages of its lanes, `Presence` the others; neither knows a topic.
 */
import type { AgentStatus } from "../../../core/agent-status.ts";
import type { Gap } from "../../../core/delivery/delivery.ts";
import type { Message } from "../../../core/message.ts";
import type { WaveformReader } from "../../../core/ports.ts";
import type { Kind, Sensor } from "../../../core/sensor.ts";
import type { IsChosen } from "../../../core/stored-reading.ts";
import type { Topics } from "../../../core/topics/topics.ts";
import type { Encode } from "./encoder.ts";
import type { Naming } from "./naming.ts";
import { type PublishedAgentState, type PublishedState } from "./presence-payloads.ts";

export interface ProfileOptions extends Naming {
  readonly version: string;
  /** Tells this agent from another one with the same site name; absent where nothing is published. */
  readonly instance?: string;
  /** Of the process, 8 hex digits. */
  readonly run?: string;
  readonly formats: readonly ("json" | "plain" | "sparkplug")[];
  readonly waveforms: "always" | "alarm" | "never";
  readonly withRaw: boolean;
  /** Readings without units, names and location; the description carries them. */
  readonly compact?: boolean;
  /** False: nothing is published retained. */
  readonly retain: boolean;
  /** Readings of removed sensors are not retained: their retained messages are cleared. */
  readonly clearRemoved: boolean;
  /** The values that the uplink selects; null = all. */
  readonly isWanted: IsChosen | null;
  /** The machines that the uplink publishes; by default none. */
  readonly hasMachine?: (id: number) => boolean;
  /** The sensors and kinds that the uplink selects; by default all. */
  readonly isChosen?: (sensor: string, kind: Kind) => boolean;
}

export interface ProfileParts {
  readonly waveforms: WaveformReader;
}

/** @param options with the id of the uplink's session */
export type CreateProfile = (
  parts: ProfileParts,
  options: ProfileOptions & { readonly deviceId: string },
) => PayloadProfile;

export interface PayloadProfile {
  /** Where commands are received and answered. */
  readonly topics: Topics;
  /** False if the platform has no such topics, and ends sessions that subscribe to them. */
  readonly takesCommands: boolean;
  /** By format; including events of the json lane. */
  readonly encode: Readonly<Record<"json" | "plain" | "waveform", Encode>>;
  /** The will; null if the platform accepts none. */
  will(word: PublishedAgentState): Message | null;
  agentState(word: PublishedAgentState): readonly Message[];
  stats(status: AgentStatus): readonly Message[];
  gap(gap: Gap): readonly Message[];
  sensorState(state: PublishedState): readonly Message[];
  /** Published once per session and when the site file changes: about, discovery, attributes. */
  describe(sensor: Sensor): readonly Message[];
  /** The same of the agent itself. */
  describeAgent(): readonly Message[];
  /** Further messages about a removed sensor, after its last state. */
  farewell(code: string): readonly Message[];
  /** Retained topics of one sensor: its descriptions and state, and its newest readings. */
  retainedTopics(sensor: Sensor): RetainedTopics;
  /** Whether a topic makes an entity elsewhere that must go with the uplink; absent if the platform has none. */
  isEntity?(topic: string): boolean;
  /** A retained topic that exists wherever the agent was ever connected; null if nothing is retained or nothing may be read. */
  readonly marker: string | null;
  /**
   * Topics to subscribe to; a message for which `wantsDescriptions` is true causes all descriptions to be sent again.
   */
  readonly subscriptions: readonly string[];
  wantsDescriptions(topic: string, payload: Uint8Array): boolean;
}

export interface RetainedTopics {
  readonly state: readonly string[];
  readonly descriptions: readonly string[];
  readonly readings: readonly string[];
  /** Topics of single values (format `plain`). */
  readonly values: readonly string[];
}

/**
 * How an uplink speaks: one object that turns everything there is to say into messages (plant 10 "Profiles"). The publisher
 * sends its lanes' messages, `Presence` the others; neither knows a topic.
 */
import type { AgentStatus } from "../../core/agent-status.ts";
import type { Gap } from "../../core/delivery.ts";
import type { Message } from "../../core/message.ts";
import type { WaveformReader } from "../../core/ports.ts";
import type { Kind, Sensor } from "../../core/sensor.ts";
import type { Topics } from "../../core/topics/topics.ts";
import type { Encode } from "./encoder.ts";
import type { Naming } from "./naming.ts";
import type { PublishedState } from "./presence-payloads.ts";
import type { ValueFilter } from "./value-filter.ts";

export interface ProfileOptions extends Naming {
  readonly version: string;
  readonly formats: readonly ("json" | "plain" | "sparkplug")[];
  readonly waveforms: "always" | "alarm" | "never";
  readonly withRaw: boolean;
  /** False: nothing is published retained. */
  readonly retain: boolean;
  /** Readings of sensors that have left the site file are not retained: what they had there is cleared. */
  readonly clearRemoved: boolean;
  /** The values that the uplink wants; null = all. */
  readonly isWanted: ValueFilter | null;
  /** The sensors and kinds that the uplink wants; all unless given. */
  readonly isChosen?: (sensor: string, kind: Kind) => boolean;
}

export interface ProfileParts {
  readonly waveforms: WaveformReader;
}

export interface AgentWord {
  readonly state: "online" | "offline";
  readonly timeMs: number;
  readonly reason: string;
  /** What is in effect; left out of a will, which may be told long after. */
  readonly configuration?: string;
  readonly pendingRestart?: readonly string[];
}

export interface Profile {
  /** Where commands are taken and answered. */
  readonly topics: Topics;
  /** False where the platform has no such topics, and ends sessions that ask for them. */
  readonly takesCommands: boolean;
  /** Most backlog messages a second that the platform takes, where it says so. */
  readonly backlogRateMax?: number;
  /** By format; events of the json lane included. */
  readonly encode: Readonly<Record<"json" | "plain" | "waveform", Encode>>;
  /** What the broker says for us when the link breaks; null where the platform takes none. */
  will(word: AgentWord): Message | null;
  agentState(word: AgentWord): readonly Message[];
  stats(status: AgentStatus): readonly Message[];
  gap(gap: Gap): readonly Message[];
  sensorState(state: PublishedState): readonly Message[];
  /** What stands at the broker once per session and changes with the site file: about, discovery, attributes. */
  describe(sensor: Sensor): readonly Message[];
  /** The same of the agent itself. */
  describeAgent(): readonly Message[];
  /** What else is said of a sensor that has left the site file, after its last state. */
  farewell(code: string): readonly Message[];
  /** Retained topics of one sensor: its descriptions and state, and its newest readings. */
  retainedTopics(sensor: Sensor): RetainedTopics;
  /** A retained topic that stands wherever the agent was ever connected; null where nothing is retained or nothing may be read. */
  readonly marker: string | null;
  /** Topics to listen on; a message for which `wantsDescriptions` is true has all descriptions sent again. */
  readonly subscriptions: readonly string[];
  wantsDescriptions(topic: string, payload: Uint8Array): boolean;
}

export interface RetainedTopics {
  readonly state: readonly string[];
  readonly descriptions: readonly string[];
  readonly readings: readonly string[];
}

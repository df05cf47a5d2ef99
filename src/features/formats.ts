/** What features bring to uplinks: formats with sessions of their own, and platforms' rules for messages. */
import type { Note } from "../config/fault.ts";
import type { WrittenUplink } from "../config/uplinks-written.ts";
import type { Message } from "../core/message.ts";
import type { Reading } from "../core/reading.ts";
import type { JsonObject } from "../core/record.ts";
import type { Sensor } from "../core/sensor.ts";
import type { Site } from "../core/site.ts";
import type { SiteMachine } from "../core/site-machines.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { PlatformTopics, PublishedTopic, TopicPlan } from "../core/topics/published-row.ts";
import type { Topics } from "../core/topics/topics.ts";
import type { Profile, Uplink, UplinkFormat } from "../core/uplink.ts";
import type { CreateProfile } from "../pipeline/publish/formats/profile.ts";

/** Sparkplug's own rules are checked if that format is enabled. */
export interface SemanticOptions {
  readonly sparkplug?: boolean;
  readonly isSparkplugGroup?: boolean;
}

/** A format that it brings to uplinks, with sessions of its own. Without the feature its name is an unknown value. */
export interface FormatSpec {
  readonly name: UplinkFormat;
  /** Members of `main`. */
  ofSettings(settings: object): Partial<Uplink>;
  /** Members of an uplink of the file. @param site the site's name as a topic level */
  ofFile(written: WrittenUplink, site: string): Partial<Uplink>;
  /** What the site file is checked for. @param main settings as text; null: unknown @param uplinks perhaps with faults */
  siteRules(
    main: Readonly<Record<string, string>> | null,
    uplinks: readonly Partial<WrittenUplink>[],
  ): SemanticOptions;
  /** Of an uplink that may not have the format. */
  topics(plan: TopicPlan, site: Site, sensors: readonly Sensor[]): PublishedTopic[];
  /** The message for a reading on `main`, for people. */
  shown(reading: Reading, settings: object): Message;
  /** Size of the message for a reading of a sensor with so many values. */
  messageBytes(sensor: string, values: number): number;
}

/** A machine, and what is said of it wherever it is named. */
export interface ToldMachine {
  readonly machine: SiteMachine;
  readonly members: {
    readonly condition: string;
    readonly zone: string | null;
    readonly running: boolean | null;
    readonly stage: number | null;
    readonly alarmCount: { readonly alarm: number; readonly warning: number };
  };
}

/** The messages about machines in a profile. */
export interface MachineMessages<T extends ToldMachine = ToldMachine> {
  /** Sent once per session and when it changes. */
  describe(machine: SiteMachine): readonly Message[];
  state(machine: T, timeMs: number): readonly Message[];
  /** Where it is told: at another place it is told anew. */
  place(machine: SiteMachine): string;
  /** After it has gone. */
  farewell(id: number): readonly Message[];
  /** Topics at which something of it is retained, or of which others have made something. */
  retained(machine: SiteMachine): readonly string[];
}

export interface MachineMessageParts<T extends ToldMachine> {
  readonly uplink: Pick<Uplink, "clientId" | "retain">;
  readonly topics: Topics;
  readonly site: SiteSource;
  readonly version: string;
  /** The words of conditions, worst first. */
  readonly conditions: readonly string[];
  /** The payload of the machine's topic. */
  payload(machine: T, timeMs: number): string;
}

interface Device {
  readonly hostName: string;
  readonly deviceId: string;
}

/** User name and password that are derived from the device's name and key. */
interface DerivedLogin {
  username(device: Device): string;
  /** Why it is no key; null if it is one. */
  keyFault(key: string): { readonly problem: string; readonly remedy: string } | null;
  /** Of one password, s. */
  readonly lifetimeS: number;
  /** From a password to the session with the next one, ms. */
  readonly renewMs: number;
  password(device: Device, key: string, expiresAtS: number): string;
  /** The part of a password that no log may have. */
  secretOf(password: string): string;
}

/** A platform's rules for sessions with the formats json and plain. Without the feature its name is an unknown value. */
export interface ProfileSpec {
  readonly name: Profile;
  readonly topics: PlatformTopics;
  /** The one version of MQTT that it speaks. */
  readonly version?: Uplink["version"];
  /** What it documents for one connection, for all that is sent over it, with a margin of a fifth: the network may press what left in 1.2 s into one second. */
  readonly limits?: { readonly publishesPerS: number; readonly inflightMax: number };
  /** Where topics begin of which others make something that must go with the uplink; at a broker one uplink alone may do so. */
  readonly entities?: string;
  readonly login?: DerivedLogin;
  /** Of an uplink of the file, perhaps with faults. @param clientIds those of its sessions */
  check?(uplink: JsonObject, place: string, clientIds: readonly string[], fault: Note): void;
  readonly create: CreateProfile;
  /** @param own those of our own topics, which stand without it */
  machines?<T extends ToldMachine>(
    parts: MachineMessageParts<T>,
    own: MachineMessages<T>,
  ): MachineMessages<T>;
}

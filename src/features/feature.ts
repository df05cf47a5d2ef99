/**
 * The seams that a feature hangs on: what is known of it before anything is opened (FeatureSpec), and what runs of it
 * (Feature). The lists are specs.ts and all.ts here and features.ts of the dashboard, written by hand, in order. Nothing
 * looks a feature up by name, and nothing outside the lists imports one.
 *
 * Values of settings are handed to methods whose parameters name those that the feature reads, its own and others'.
 */
import type { Command, CommandContext, FlagSpec } from "../cli/command.ts";
import type { DoctorView, Finding } from "../cli/finding.ts";
import type { Note } from "../config/fault.ts";
import type { Refining } from "../config/refining.ts";
import type { SettingSpec } from "../config/setting-spec.ts";
import type { WrittenUplink } from "../config/uplinks-written.ts";
import type { LinkState, SensorState } from "../core/agent-status.ts";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type { DayKey } from "../core/day.ts";
import type { InboundMessage, LinkNeeds, SessionLink } from "../core/delivery/link.ts";
import type { Message, PublishOutcome } from "../core/message.ts";
import type { Logger, MessageLink, Outbox, Runtime, WaveformReader } from "../core/ports.ts";
import type { Reading } from "../core/reading.ts";
import type { JsonObject } from "../core/record.ts";
import type { Schema } from "../core/schema.ts";
import type { Kind, Sensor } from "../core/sensor.ts";
import type { Site } from "../core/site.ts";
import type { SiteMachine } from "../core/site-machines.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { BoxFault } from "../core/status/box-fault.ts";
import type { StoredReading } from "../core/stored-reading.ts";
import type { PlatformTopics, PublishedTopic, TopicPlan } from "../core/topics/published-row.ts";
import type { CommandMessage } from "../core/topics/request.ts";
import type { Topics } from "../core/topics/topics.ts";
import type { Profile, Uplink, UplinkFormat } from "../core/uplink.ts";
import type { Operation, ServedOperation } from "../http/api-operation.ts";
import type { OwnRoutes } from "../http/parts.ts";
import type { UplinkMetrics } from "../lib/metrics.ts";
import type { Encode } from "../pipeline/publish/formats/encoder.ts";
import type { CreateProfile, PayloadProfile } from "../pipeline/publish/formats/profile.ts";
import type { OtherAgents } from "../pipeline/publish/other-agents.ts";
import type { RetainedReader } from "../pipeline/publish/retained-query.ts";
import type { Turns } from "../pipeline/publish/turns.ts";
import type { WantedTones } from "../pipeline/signal/tones.ts";
import type { CreateCounting, ReadCounted } from "../pipeline/store/counting.ts";
import type { SchemaStep } from "../pipeline/store/database/schema-step.ts";
import type { CreateKeeping } from "../pipeline/store/keeping.ts";
import type { StoreSteps } from "../pipeline/store/store-steps.ts";

/** An entry, for all together or for each by its own name. */
type Anchor = string | Readonly<Record<string, string>>;
/** As `check` shows them, by their names. */
type ShownValues = Readonly<Record<string, string>>;
export interface ConfigurationPlaces {
  readonly dataDir: string;
  readonly siteFile: string;
  readonly uplinksFile: string | null;
}
type RawValues = Readonly<Record<string, string | number | boolean | undefined>>;

/** Texts by name, kept in the store. */
export interface FeatureMemory {
  get(name: string): string | null;
  /** Stands at once, and is durable in a moment. */
  set(name: string, text: string): void;
  /** The same of many, in one transaction. */
  setAll(texts: readonly (readonly [name: string, text: string])[]): void;
  /** Resolves once durable. */
  keep(name: string, text: string): Promise<void>;
  /** Durable when it returns. */
  secure(name: string, text: string): void;
  /** Those that begin with `folder/`. */
  names(folder: string): readonly string[];
}

/** Sparkplug's own rules are checked if that format is enabled. */
export interface SemanticOptions {
  readonly sparkplug?: boolean;
  readonly isSparkplugGroup?: boolean;
}

/** A gauge of /metrics. */
interface MetricSpec {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
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

/** Configuration as a command has it. */
interface Configured {
  readonly settings: object;
  readonly site: Site;
  readonly uplinks: readonly object[];
}

/** Its own reads, as commands try them. */
interface TriedReads {
  /** Each of the sensor once, for `gateside probe`. Returns the exit code. */
  probe(context: CommandContext, configuration: Configured, sensor: Sensor): Promise<number>;
  /**
   * Lines of `gateside doctor`, after those of the gateway.
   * @param isGatewayLost what it would ask the gateway for is not tried
   */
  doctor(
    configuration: Configured,
    isGatewayLost: boolean,
    found: (finding: Finding) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

export interface FeatureSpec {
  /** Its folder. */
  readonly name: string;
  readonly settings?: Readonly<Record<string, SettingSpec>>;
  /** Those that the program knows only as `refine` returns them: several in the place of one, or one of several. */
  readonly replaced?: readonly string[];
  /** Checks its settings together, and returns those that the program knows in another form or by another name. */
  refine?(raw: RawValues, refining: Refining): object;
  /** Secrets in settings, perhaps others than its own, and what an echo of them would contain. */
  secrets?(settings: object): readonly string[];
  /** Files of CAs that its settings name, by the setting. */
  authorities?(settings: object): Readonly<Record<string, string | null>>;
  /** Its rules of the site file, beside its members of the schema (`site-schema.json`). Parts of the wrong shape are left to the schema. */
  readonly site?: {
    /** Faults of a written sensor. */
    sensor?(written: JsonObject, place: string, faults: ConfigurationFault[]): void;
    /** Faults of a written machine. @param own sensors on it @param sparkplug true if that format is enabled */
    machine?(
      written: JsonObject,
      place: string,
      own: readonly Sensor[],
      faults: ConfigurationFault[],
      sparkplug: boolean,
    ): void;
    /** The sensor with the values that it gets by it. @param machines as written */
    known?(sensor: Sensor, machines: readonly unknown[]): Sensor;
  };
  /** Whether the agent may start with an empty site: its files are filled while it runs. */
  startsEmpty?(shown: ShownValues): boolean;
  /** What is wrong with files that its settings name, at the start and at each reload. */
  faults?(settings: object): readonly ConfigurationFault[];
  /** For `gateside check` alone. */
  warnings?(shown: ShownValues): readonly ConfigurationFault[];
  /**
   * Takes back what an interrupted trial of a configuration has replaced, before the files are read. Returns a record of it for the running
   * feature; null if there is none, or if the disk takes nothing.
   */
  recover?(settings: ConfigurationPlaces, warn: (text: string) => void): Promise<string | null>;
  /** Whether events and retained topics of alarms are published. */
  publishesAlarms?(settings: object): boolean;
  /** What `gateside check` says this configuration could have and has not. */
  notes?(configured: Configured): readonly string[];
  /** Whether sessions take signed documents. */
  takesDocuments?(settings: object): boolean;
  /** Its tables. */
  readonly steps?: readonly SchemaStep[];
  /** What stays of measurements beyond WAVEFORM_DAYS, in every store that is opened: the one of an agent, or a command's own. */
  readonly keep?: CreateKeeping;
  /** What is counted of readings by hour and day, in every store that is opened. */
  readonly count?: {
    open(settings: object): CreateCounting;
    readonly read: ReadCounted;
  };
  readonly operations?: readonly Operation[];
  /** What its operations answer while it is off; by default 501. */
  readonly off?: { readonly status: number; readonly message: string };
  readonly commands?: readonly Command[];
  /** What `metricText` writes. */
  readonly metrics?: readonly MetricSpec[];
  readonly formats?: readonly FormatSpec[];
  readonly profiles?: readonly ProfileSpec[];
  /** What it reads of sensors beside the records of days. */
  readonly reads?: {
    readonly kind: Kind;
    /** Whether that is anything of this sensor. */
    of(sensor: Sensor): boolean;
    load(): Promise<TriedReads>;
  };
  readonly status?: {
    /** Its members of the status; null while it is off. */
    readonly members: Readonly<Record<string, Schema>>;
    /** Lines of `gateside status`: a word, and what there is to say. */
    lines?(status: object): readonly [string, string][];
    /** What of it does not work: `gateside status` then exits with 1, and people are told. */
    fault?(status: object): BoxFault | null;
  };
  /** Days were read again while no agent ran: what the next one is to know. @param sensor null: all */
  readAgain?(memory: FeatureMemory, days: readonly string[], sensor: string | null): void;
  /** Lines of `gateside doctor`. */
  doctor?(settings: object, ask: DoctorView): Promise<readonly Finding[]>;
  /** What `gateside doctor` tries only if it is asked to, by a flag. */
  readonly trial?: {
    readonly flag: FlagSpec;
    run(settings: object, site: string, signal: AbortSignal): Promise<readonly Finding[]>;
  };
  /** Where what it brings stands in help and documents: after which entry; by default at the end. */
  readonly after?: {
    readonly settings?: Anchor;
    /** Path of an operation. */
    readonly operations?: string;
    readonly commands?: Anchor;
  };
}

type TopicName = {
  [Name in keyof Topics]: Topics[Name] extends string ? Name : never;
}[keyof Topics];

/** What comes in over MQTT for it, from uplinks that take commands. */
interface FeatureRequest {
  readonly topic: TopicName;
  /** Never rejects. @param session the one that it came in over */
  handle(
    message: CommandMessage,
    reply: (response: Message) => Promise<unknown>,
    session: {
      readonly logger: Logger;
      /** For everything kept of a request: a broker may insert secrets into one. */
      redact(text: string): string;
      /** A flood of requests is not even parsed. */
      readonly pace: { pass(): boolean };
    },
  ): Promise<unknown>;
}

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

export interface Feature extends StoreSteps {
  /** It follows the signals of machines itself: without it they are followed for others. */
  readonly followsSignals?: boolean;
  /** Reads what it needs of the store, in steps, before anything is polled. */
  begin?(): Generator<void, void>;
  /** Damage of the store was repaired: it may have lost what this one has in memory. */
  recovered?(): void;
  /** Which tones it needs of acceleration records. */
  wantedTones?(sensor: string): WantedTones;
  /** The session that the uplink has by one of its formats; null: it has none of them. */
  open?(uplink: Uplink, lane: () => Lane): Promise<Destination | null>;
  readonly requests?: readonly FeatureRequest[];
  readonly documents?: DocumentIntake | null;
  /** Topics at which other uplinks keep something of it true at the broker of this one. */
  heldBeside?(
    uplink: Pick<Uplink, "name" | "urls">,
    uplinks: readonly Uplink[],
  ): ReadonlySet<string>;
  /** Null: nothing. */
  stand?(session: UplinkSession): Standing | null;
  /** An operation of its spec that is not among them is refused with 501. */
  readonly serve?: readonly ServedOperation[];
  readonly routes?: readonly OwnRoutes[];
  /** Reads beside the poller until aborted, which is before the last readings are stored. A rejection ends the agent. */
  reads?(signal: AbortSignal): Promise<void>;
  /** A sensor's state with what is known of it by such reads. */
  sensorState?(state: SensorState): SensorState;
  /** Works until aborted, or ends early. A rejection ends the agent. */
  run?(signal: AbortSignal): Promise<void>;
  /** A reading is durable. */
  reading?(reading: Reading): void;
  /** The readings of a response are durable. @param fromMs time of its oldest one @param toMs of its newest one */
  durable?(key: DayKey, fromMs: number, toMs: number): void;
  /** A backfill has read these days. @param sensor null: all */
  readAgain?(days: readonly string[], sensor: string | null): void;
  /** Its members of the status. */
  status?(): object;
  /** Further series for /metrics, in Prometheus' text format. @param site its name */
  metricText?(site: string): Promise<string>;
  /** The agent begins to stop: what waits for other services ends. */
  stopping?(): void;
  /** Readings are stored, and uplinks still publish: what was accepted is answered. */
  finish?(): Promise<void>;
  close?(): Promise<void>;
}

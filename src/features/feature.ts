/**
 * The seams that a feature hangs on: what is known of it before anything is opened (FeatureSpec), and what runs of it
 * (Feature). The lists are specs.ts and all.ts here and features.ts of the dashboard, written by hand, in order. Nothing
 * looks a feature up by name, and nothing outside the lists imports one.
 *
 * Values of settings are handed to methods whose parameters name those that the feature reads, its own and others'.
 */
import type { Command, CommandContext, FlagSpec } from "../cli/command.ts";
import type { DoctorView, Finding } from "../cli/finding.ts";
import type { Refining } from "../config/refining.ts";
import type { SettingSpec } from "../config/setting-spec.ts";
import type { SensorState } from "../core/agent-status.ts";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type { DayKey } from "../core/day.ts";
import type { Message } from "../core/message.ts";
import type { Logger } from "../core/ports.ts";
import type { Reading } from "../core/reading.ts";
import type { JsonObject } from "../core/record.ts";
import type { Schema } from "../core/schema.ts";
import type { Kind, Sensor } from "../core/sensor.ts";
import type { Site } from "../core/site.ts";
import type { BoxFault } from "../core/status/box-fault.ts";
import type { CommandMessage } from "../core/topics/request.ts";
import type { Topics } from "../core/topics/topics.ts";
import type { Uplink } from "../core/uplink.ts";
import type { Operation, ServedOperation } from "../http/api-operation.ts";
import type { OwnRoutes } from "../http/parts.ts";
import type { WantedTones } from "../pipeline/signal/tones.ts";
import type { CreateCounting, ReadCounted } from "../pipeline/store/counting.ts";
import type { SchemaStep } from "../pipeline/store/database/schema-step.ts";
import type { CreateKeeping } from "../pipeline/store/keeping.ts";
import type { StoreSteps } from "../pipeline/store/store-steps.ts";
import type { FormatSpec, ProfileSpec } from "./formats.ts";
import type { Destination, DocumentIntake, Lane, Standing, UplinkSession } from "./sessions.ts";

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

/** A gauge of /metrics. */
interface MetricSpec {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
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
  /**
   * The same of what was read last of each sensor and kind, for `gateside doctor`.
   * @param newest samples only of sensors with bands
   */
  doctorNewest?(
    site: Site,
    newest: readonly Pick<Reading, "kind" | "sensor" | "values" | "waveform">[],
  ): Promise<readonly Finding[]>;
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

export interface Feature extends StoreSteps {
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
  /** It publishes machines where an uplink has them: descriptions of sensors may then refer to theirs. */
  readonly publishesMachines?: boolean;
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
  /** A read of a day is over, whether it found anything or not. @param atMs the gateway's time when it answered */
  dayRead?(key: DayKey, atMs: number): void;
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

/** What the agent gives a feature. All of it exists when the feature is built. */

import type { Settings } from "../config/settings-shape.ts";
import type { SensorState } from "../core/agent-status.ts";
import type { CommandLog } from "../core/command.ts";
import type { ConfigurationFiles, Reloads } from "../core/configuration/configuration-files.ts";
import type { DayKey } from "../core/day.ts";
import type { EngineFailures } from "../core/engine-failures.ts";
import type { ReadingLog, StreamFound, WantedRecords } from "../core/ports.ts";
import type { Reading } from "../core/reading.ts";
import type { Kind } from "../core/sensor.ts";
import type { BoxFault } from "../core/status/box-fault.ts";
import type { Uplink } from "../core/uplink.ts";
import type { HttpSources } from "../http/parts.ts";
import type { SecretGate } from "../lib/secrets.ts";
import type { GatewayClient } from "../pipeline/gateway/client.ts";
import type { ReadingGateway } from "../pipeline/poll/one-read.ts";
import type { Counting } from "../pipeline/store/counting.ts";
import type { Keeping } from "../pipeline/store/keeping.ts";
import type { History } from "../pipeline/store/readings/history.ts";
import type { NewestReading } from "../pipeline/store/readings/newest-readings.ts";
import type { StoreTables } from "../pipeline/store/store.ts";
import type { WireNames } from "../pipeline/wire/wire-names.ts";
import type { FeatureMemory } from "./feature.ts";

/** For readings that a feature makes of stored ones. */
interface ReadingMaking {
  readonly log: ReadingLog;
  readonly history: Pick<History, "count" | "latest" | "newestSeq" | "range" | "streams">;
  /** Reads a day again for records whose samples are gone; null once it was read, else why it could not be. */
  readonly readWanted: (key: DayKey, wanted: WantedRecords) => Promise<string | null>;
  /** To be called with each of them once it is durable. */
  readonly stored: (reading: Reading) => void;
}

/** For what changes the configuration while the agent runs. */
export interface Configuring {
  readonly files: ConfigurationFiles;
  readonly reloads: Reloads;
  /** In effect, `main` among them. */
  readonly uplinks: () => readonly Uplink[];
  readonly reads: {
    /** Sensors and kinds that are polled now. */
    readonly found: readonly StreamFound[];
    readSoon(awaited: readonly StreamFound[]): void;
  };
  /** Its reads are neither stored nor counted. */
  readonly gateway: ReadingGateway;
  /** Of the data directory; null while it has none. */
  readonly instance: () => string | null;
  readonly places: UnitPlaces;
  /** What `recover` of a spec has returned. */
  readonly recovered: string | null;
}

/** From the unit, where the agent runs in one: files from outside may lie below the two directories, but are never the agent's own. */
export interface UnitPlaces {
  readonly credentialsDirectory?: string | null;
  readonly configurationDirectory?: string | null;
  readonly ownFiles?: readonly string[];
}

export interface FeatureHost extends HttpSources {
  readonly settings: Settings;
  readonly tables: StoreTables;
  /** Null where nothing stays of measurements beyond WAVEFORM_DAYS. */
  readonly keeping: Keeping | null;
  /** Null where nothing is counted. */
  readonly counting: Counting | null;
  /** Whether somebody has confirmed the gateway's clock: until then nothing is removed by it. */
  readonly isClockConfirmed: () => boolean;
  readonly memory: FeatureMemory;
  readonly gateway: Pick<GatewayClient, "post" | "readState" | "state">;
  readonly names: WireNames;
  /** True once each sensor and kind was read by this process. */
  readonly hasReadAll: () => boolean;
  /** For everything kept of what others send. */
  readonly gate: SecretGate;
  readonly commandLog: CommandLog;
  readonly addAudit: (who: string, what: string, outcome: string, detail: string) => void;
  /** Days of a sensor and kind that are about to be read: none since they ended, and no read of it fails. */
  readonly pendingDays: (sensor: string, kind: Kind) => readonly string[];
  readonly failures: EngineFailures;
  readonly readings: ReadingMaking;
  /** Null for an agent that was opened without files. */
  readonly configuring: Configuring | null;
  /** What is wrong with the box itself, by features too. */
  readonly boxFaults: () => readonly BoxFault[];
  /** The states of all sensors, at most a second old. */
  readonly sensors: () => readonly SensorState[];
  /** Of those whose silence is known: they have been read, or had the time for it. */
  readonly settledSensors: () => readonly SensorState[];
  /** The gateway has told its time. */
  readonly isGatewayTimeKnown: () => boolean;
  /** The newest reading that went live, parsed; null before the first. */
  readonly newest: { of(sensor: string, kind: Kind): NewestReading | null };
}

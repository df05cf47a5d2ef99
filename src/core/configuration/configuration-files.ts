/** Settings and files as a running agent reads them again. */

import type { Sensor } from "../sensor.ts";
import type { Site } from "../site.ts";
import type { Uplink } from "../uplink.ts";
import type { ConfigurationState, ReloadReport } from "./configuration.ts";
import type { ConfigurationFault } from "./configuration-fault.ts";

/** By absolute path: the future content of files. */
export type PendingSecrets = ReadonlyMap<string, string>;

/** The texts of the files; null if there is none, or it cannot be read. */
export interface ConfigurationTexts {
  readonly site: string | null;
  readonly uplinks: string | null;
}

/** Current settings and files, next to the running ones. */
interface Examined {
  /** Null with faults. */
  readonly site: Site | null;
  readonly uplinks: readonly Uplink[] | null;
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
  readonly texts: ConfigurationTexts;
}

export interface ConfigurationFiles {
  /** Reads everything again; `proposed` texts and `pending` secrets replace files, to be checked before they are written. */
  examine(proposed?: Partial<ConfigurationTexts>, pending?: PendingSecrets): Examined;
  /** Settings as `check` shows them, but for all that are secrets. */
  settings(): Readonly<Record<string, string>>;
  /** Names of the secret ones that are set. */
  secretSettings(): readonly string[];
  /** Cheap: only the files' texts. */
  texts(): ConfigurationTexts;
  /** Settings of the environment, and of the file it is set from, that differ from the running ones. */
  pendingRestart(): readonly string[];
  compare(
    nonce: string,
    digests: Readonly<Record<string, string>>,
    withSecrets: boolean,
  ): readonly string[];
  /** One sensor as it would be in the site file, checked on its own. */
  sensor(written: unknown): Checked<Sensor>;
  /** One uplink as it would be in the uplinks file, checked on its own. */
  uplink(written: unknown, pending?: PendingSecrets): Checked<Uplink>;
}

type Checked<T> = { readonly value: T } | { readonly faults: readonly ConfigurationFault[] };

/** The reload, for those who change the files. */
export interface Reloads {
  readonly state: ConfigurationState;
  /** The files as they were last applied: those on disk may have faults, or wait for a reload. */
  readonly inEffect: ConfigurationTexts;
  /** Never rejects because of the files' content. */
  reload(by: string): Promise<ReloadReport>;
  /** Once no reload is under way. */
  settled(): Promise<void>;
  /** Called at each reload, whatever the files' faults. */
  onReload(listener: (by: string) => void): void;
}

import type { KeyObject } from "node:crypto";
import type { Settings } from "../config/settings.ts";
import type { Clock, Logger } from "../core/ports.ts";
import type { Site } from "../core/sensor.ts";
import type { Uplink } from "../core/uplink.ts";
import type { SystemdNotifier } from "../lib/sd-notify.ts";
import type { ConfigurationFiles } from "../setup/reload.ts";
import type { Accepted } from "../setup/trial-journal.ts";

export interface AgentOptions {
  readonly settings: Settings;
  readonly site: Site;
  /** Unless given, `main` as the settings describe it. */
  readonly uplinks?: readonly Uplink[];
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly notifier?: SystemdNotifier;
  /** Where settings and files are read again; without it there is no reload. */
  readonly files?: ConfigurationFiles;
  /** Settings as `check` shows them, without secrets: part of the configuration's name. */
  readonly settingsShown?: Readonly<Record<string, string>>;
  /** Keys of CONFIG_PUBLIC_KEY_FILE; without them no signed document is taken. */
  readonly documentKeys?: readonly KeyObject[];
  /** What became of a trial that the last process left behind. */
  readonly recovered?: Accepted | null;
  /** Of the unit: set-up may name files below the two directories, and never the file of NAME=value lines. */
  readonly credentialsDirectory?: string | null;
  readonly configurationDirectory?: string | null;
  readonly ownFiles?: readonly string[];
  /** True: a port that cannot be had rejects `openAgent`. Else the agent runs without its HTTP side and tries again. */
  readonly isPortRequired?: boolean;
}

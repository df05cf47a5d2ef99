import type { Settings } from "../config/settings.ts";
import type { ConfigurationFiles } from "../core/configuration/configuration-files.ts";
import type { Clock, Logger } from "../core/ports.ts";
import type { Site } from "../core/site.ts";
import type { LogView } from "../core/status/log-view.ts";
import type { Uplink } from "../core/uplink.ts";
import type { UnitPlaces } from "../features/host.ts";
import type { SystemdNotifier } from "../lib/sd-notify.ts";

export interface AgentOptions extends UnitPlaces {
  readonly settings: Settings;
  readonly site: Site;
  /** By default, `main` as described by the settings. */
  readonly uplinks?: readonly Uplink[];
  readonly logger: Logger;
  /** The newest lines of that log, for the dashboard. */
  readonly log?: LogView;
  readonly clock?: Clock;
  readonly notifier?: SystemdNotifier;
  /** Rereads settings and files; without it there is no reload. */
  readonly files?: ConfigurationFiles;
  /** Settings as `check` shows them, without secrets: part of the configuration's name. */
  readonly settingsShown?: Readonly<Record<string, string>>;
  /** The record of a trial that the last process left behind. */
  readonly recovered?: string | null;
  /** True: a port in use rejects `openAgent`. Otherwise the agent runs without HTTP and retries. */
  readonly isPortRequired?: boolean;
}

import type { Site } from "../core/site.ts";
import type { Uplink } from "../core/uplink.ts";
import type { Note } from "./fault.ts";
import type { PendingFiles } from "./uplinks-secrets.ts";

/** What the rules of the uplinks file depend on besides the file. */
export interface UplinksContext {
  /** Null if the site file has faults: rules that depend on it are not checked then. */
  readonly site: Site | null;
  /** Null without MQTT_URL, or if settings have faults. */
  readonly main: Uplink | null;
  /** MQTT_URL is set, although faults elsewhere may leave `main` null. */
  readonly hasMainUrl?: boolean;
  readonly commandsEnabled: boolean;
  /** SETUP_ENABLED: uplinks may be added later, in the browser. */
  readonly mayBeEmpty?: boolean;
  readonly pending?: PendingFiles;
}

export type ReportFault = { readonly fault: Note; readonly warn: Note };

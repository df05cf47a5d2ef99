/** Set-up over HTTP: the two files, and tests before saving. Built only with SETUP_ENABLED. */

import siteSchema from "#site-schema";
import uplinksSchema from "#uplinks-schema";
import { messagesOf, PAYLOAD_SHOWN_MAX, shownMessages } from "../../cli/probe-messages.ts";
import { trialOptions } from "../../config/broker-options.ts";
import type { Settings } from "../../config/settings.ts";
import type { ConfigurationFiles, Reloads } from "../../core/configuration/configuration-files.ts";
import { EMPTY_SITE, isUnnamed } from "../../core/configuration/empty-site.ts";
import {
  type AddressReport,
  isRefusal,
  type ProbeReport,
  type Refused,
} from "../../core/configuration/setup.ts";
import { intactJson } from "../../core/parsed-json.ts";
import type { Runtime } from "../../core/ports.ts";
import { isFlagged } from "../../core/reading.ts";
import type { PolledKind, Sensor } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import { dayOf } from "../../core/time/time-zone.ts";
import { MAIN_UPLINK, type Uplink } from "../../core/uplink.ts";
import { durableFiles } from "../../lib/durable-file.ts";
import { withinMs } from "../../lib/time-limit.ts";
import { tryAddress } from "../../pipeline/link/try-address.ts";
import { type ReadingGateway, readOnce } from "../../pipeline/poll/one-read.ts";
import type { ChangeTurn } from "./change-turn.ts";
import { type EditedPart, sitePart, uplinksPart } from "./edited-part.ts";
import { FileEditor, type FileEditorParts } from "./file-editor.ts";
import type { FilePolicy } from "./file-policy.ts";
import { FileVersions } from "./file-versions.ts";
import { TYPED_SCHEMA, TypedSecrets } from "./typed-secrets.ts";

/** Less than HTTP's limit for a silent connection; a slower gateway is reported within this time. */
const PROBE_MAX_MS = 45_000;

interface SetupParts extends Runtime {
  readonly settings: Settings;
  readonly configuration: ConfigurationFiles;
  readonly reloader: Reloads;
  readonly site: () => Site;
  /** In effect. */
  readonly uplinks: () => readonly Uplink[];
  /** Shared by all that changes the two files. */
  readonly turn: ChangeTurn;
  /** The running agent's client; probe reads are neither counted nor stored. */
  readonly gateway: ReadingGateway;
  /** Files that systemd created from secrets; null if there are none. */
  readonly credentialsDirectory: string | null;
  /** Null without UPLINKS_FILE. */
  readonly policy: FilePolicy | null;
}

export class Setup {
  readonly site: FileEditor;
  /** Null if UPLINKS_FILE is not set. */
  readonly uplinks: FileEditor | null;
  /** The published ones, of which forms are made. */
  readonly schemas = { site: siteSchema, uplinks: formSchema() };
  readonly #parts: SetupParts;
  readonly #uplinksPart: EditedPart | null;
  readonly #stopping = new AbortController();
  #isProbing = false;
  #isTrying = false;

  constructor(parts: SetupParts) {
    const { settings, configuration, logger } = parts;
    const { siteFile, uplinksFile, dataDir } = settings;
    this.#parts = parts;
    const editing = (part: "site" | "uplinks"): FileEditorParts => ({
      files: durableFiles,
      reloader: parts.reloader,
      versions: new FileVersions(durableFiles, dataDir, part),
      turn: parts.turn,
      clock: parts.clock,
      logger,
    });
    this.site = new FileEditor(
      editing("site"),
      sitePart({ path: siteFile, configuration, running: parts.site }),
    );
    this.#uplinksPart =
      uplinksFile === null || parts.policy === null
        ? null
        : uplinksPart({
            path: uplinksFile,
            configuration,
            running: () => parts.uplinks().filter(({ name }) => name !== MAIN_UPLINK),
            policy: parts.policy,
            secrets: new TypedSecrets(durableFiles, dataDir),
          });
    this.uplinks =
      this.#uplinksPart === null ? null : new FileEditor(editing("uplinks"), this.#uplinksPart);
  }

  /** @param day yyyy-MM-dd in the gateway's zone; null: today */
  async probe(
    written: unknown,
    kind: PolledKind,
    day: string | null,
  ): Promise<ProbeReport | Refused> {
    const checked = this.#parts.configuration.sensor(written);
    if ("faults" in checked) return checked;
    const sensor = checked.value;
    if (!sensor.kinds.includes(kind))
      return {
        faults: [
          {
            place: "kind",
            problem: `is not a kind of this sensor`,
            remedy: `use ${sensor.kinds.join(" or ")}`,
          },
        ],
      };
    const { gateway, settings, site } = this.#parts;
    const today = dayOf(gateway.gatewayNow(null), settings.gatewayTimezone);
    const request = { sensor, kind, day: day ?? today };
    const read = await this.#probing(async (signal) => ({
      ...(await readOnce(gateway, request, signal)),
      isLate: signal.aborted,
    }));
    if (isRefusal(read)) return read;
    const { result, count, newest, isLate } = read;
    const isLive = request.day === today && newest !== null && !isFlagged(newest, "time_in_future");
    const { site: name } = isUnnamed(site()) ? { ...EMPTY_SITE, site: "site" } : site();
    const messages =
      newest === null || settings.mqttUrls.length === 0
        ? []
        : messagesOf(newest, { settings, site: { site: name, sensors: [sensor] } }, isLive);
    return {
      day: request.day,
      records: count,
      durationMs: Math.round(result.durationMs),
      error: result.ok
        ? null
        : isLate
          ? `no complete response within ${PROBE_MAX_MS / 1000} s`
          : result.message,
      reading: newest && {
        id: newest.id,
        time: new Date(newest.timeMs).toISOString(),
        values: newest.values,
        units: newest.units,
        quality: newest.quality,
        raw: newest.raw,
      },
      messages: shownMessages(messages, PAYLOAD_SHOWN_MAX),
    };
  }

  /** Another read of a sensor, one at a time and not for long, as `probe`. */
  async trySensor<T>(
    written: unknown,
    attempt: (sensor: Sensor, signal: AbortSignal) => Promise<T>,
  ): Promise<T | Refused> {
    const checked = this.#parts.configuration.sensor(written);
    if ("faults" in checked) return checked;
    return this.#probing((signal) => attempt(checked.value, signal));
  }

  /** One at a time, to spare the gateway. */
  async #probing<T>(attempt: (signal: AbortSignal) => Promise<T>): Promise<T | Refused> {
    if (this.#isProbing) return { busy: "another sensor is being read; try again in a moment" };
    this.#isProbing = true;
    try {
      return await withinMs(this.#stopping.signal, PROBE_MAX_MS, attempt);
    } finally {
      this.#isProbing = false;
    }
  }

  /** Opens one session at each address and closes it at once. */
  async tryUplink(written: unknown): Promise<readonly AddressReport[] | Refused> {
    if (this.#uplinksPart === null) return { faults: [NO_UPLINKS_FILE] };
    // Hidden secrets are filled in, and only permitted files are read.
    const made = this.#uplinksPart.written({ uplinks: [written] });
    if ("faults" in made) return made;
    const { uplinks } = intactJson<{ uplinks: readonly unknown[] }>(made.text);
    const checked = this.#parts.configuration.uplink(uplinks[0], made.secrets);
    if ("faults" in checked) return { faults: this.#uplinksPart.safe(checked.faults, made.text) };
    if (this.#isTrying) return { busy: "another connection is being tried; try again in a moment" };
    this.#isTrying = true;
    try {
      const options = trialOptions(checked.value, "-test", this.#parts.credentialsDirectory);
      // Each address has its own time limit; together they stay within that of the client's connection.
      const tried = await Promise.all(
        options.urls.map((address) => tryAddress(options, address, this.#stopping.signal)),
      );
      return tried.filter((one) => one !== null);
    } finally {
      this.#isTrying = false;
    }
  }

  /** Aborts its requests to other services. */
  close(): void {
    this.#stopping.abort();
  }
}

/** The published schema, and the members that may be typed instead of naming a file. */
function formSchema(): object {
  const { definitions } = uplinksSchema;
  const { uplink } = definitions;
  const properties = { ...uplink.properties, ...TYPED_SCHEMA };
  return { ...uplinksSchema, definitions: { ...definitions, uplink: { ...uplink, properties } } };
}

const NO_UPLINKS_FILE = {
  place: "UPLINKS_FILE",
  problem: "is not set",
  remedy: "set it to the path of a file, and restart the agent (docs/setup.md)",
} as const;

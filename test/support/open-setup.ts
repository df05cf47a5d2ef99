/** Set-up behind the HTTP side's routes, over its own files. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { operationsOf } from "../../src/agent/features.ts";
import { Reloader } from "../../src/agent/reload.ts";
import { type ComparedConfiguration, examineFiles } from "../../src/cli/configuration.ts";
import { createConfigurationFiles } from "../../src/cli/configuration-files.ts";
import { loadSettings } from "../../src/config/settings.ts";
import type { AgentStatus } from "../../src/core/agent-status.ts";
import type { AuditEntry } from "../../src/core/audit.ts";
import { ReplaceableSite } from "../../src/core/site-source.ts";
import type { Uplink } from "../../src/core/uplink.ts";
import type { Feature } from "../../src/features/feature.ts";
import { Setup } from "../../src/features/setup/actions.ts";
import { backupOperations } from "../../src/features/setup/api-backup.ts";
import { setupOperations } from "../../src/features/setup/api-setup.ts";
import { ChangeTurn } from "../../src/features/setup/change-turn.ts";
import { filePolicy } from "../../src/features/setup/file-policy.ts";
import { FileVersions } from "../../src/features/setup/file-versions.ts";
import { Restorer } from "../../src/features/setup/restorer.ts";
import { TrialJournal } from "../../src/features/setup/trial-journal.ts";
import { createApp } from "../../src/http/server.ts";
import { type DurableFiles, durableFiles } from "../../src/lib/durable-file.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { OPTIONS, testParts } from "./http-parts.ts";
import { ManualClock } from "./manual-clock.ts";
import { tempDirectory } from "./temp-database.ts";

export const TOKENS = { token: "t0ken-that-may-all", viewToken: "t0ken-that-looks" };
export const FIRST = { site: "plant-7", sensors: [{ code: "40001", type: 40, kinds: ["rpm"] }] };
export const sensor = (code: string, more: object = {}) => ({
  code,
  type: 40,
  kinds: ["rpm"],
  ...more,
});
export const withSensors = (...sensors: object[]) => ({ site: "plant-7", sensors });

interface SetupOptions {
  readonly uplinks?: object;
  readonly env?: Readonly<Record<string, string>>;
  readonly credentials?: string;
  /** A restore's. */
  readonly files?: Partial<DurableFiles>;
  /** Names of uplinks whose links are up. */
  readonly isUp?: (uplink: Uplink) => boolean;
  /** Where a box without a name sees the backup's box go on; null: nowhere. */
  readonly lookElsewhere?: () => Promise<string | null>;
  /** Those that use set-up. */
  readonly features?: (
    setup: Setup,
    settings: ComparedConfiguration["settings"],
  ) => readonly Feature[];
}

export function openSetup(t: TestContext, options: SetupOptions = {}) {
  const directory = tempDirectory(t);
  const path = join(directory, "site.json");
  const uplinksPath = join(directory, "uplinks.json");
  writeFileSync(path, JSON.stringify(FIRST));
  if (options.uplinks) writeFileSync(uplinksPath, JSON.stringify(options.uplinks));
  const env = {
    GATEWAY_URL: "http://gateway",
    MQTT_URL: "mqtt://broker",
    SITE_FILE: path,
    DATA_DIR: join(directory, "data"),
    GATEWAY_TIMEZONE: "UTC",
    SETUP_ENABLED: "true",
    ...(options.uplinks && { UPLINKS_FILE: uplinksPath }),
    ...options.env,
  };
  const loaded = loadSettings(env, { cwd: directory });
  const { configuration: whole, faults } = examineFiles(loaded);
  assert.ok(whole, JSON.stringify(faults));
  const running = new ReplaceableSite(whole.site);
  const configuration = createConfigurationFiles(
    {
      env,
      cwd: directory,
      flags: { text: () => null } as unknown as Parameters<
        typeof createConfigurationFiles
      >[0]["flags"],
    },
    loaded,
  );
  const uplinks = {
    current: whole.uplinks.filter(({ name }) => name !== "main"),
    main: whole.uplinks.find(({ name }) => name === "main") ?? null,
    replace(next: readonly Uplink[]) {
      this.current = [...next];
      return Promise.resolve();
    },
  };
  const reloader = new Reloader(
    {
      files: configuration,
      site: running,
      uplinks,
      digest: () => "d",
      whyUnwritable: async () => null,
      logger: silentLogger,
    },
    configuration.texts(),
  );
  const entries: AuditEntry[] = [];
  const audit = { add: async (entry: AuditEntry) => void entries.push(entry), newest: () => [] };
  const { settings } = whole;
  const policy = filePolicy(settings, {
    credentialsDirectory: options.credentials ?? null,
    ownFiles: [join(directory, "gateside.env"), join(directory, "headers")],
  });
  const turn = new ChangeTurn();
  const changing = {
    configuration,
    reloader,
    policy,
    site: () => running.current,
    turn,
    clock: new ManualClock(1_764_000_000_000),
    logger: silentLogger,
  };
  const outcomes: string[] = [];
  const backup = new Restorer(
    {
      ...changing,
      journal: new TrialJournal({ ...durableFiles, ...options.files }, settings.dataDir),
      paths: { site: path, uplinks: settings.uplinksFile },
      versions: {
        site: new FileVersions(durableFiles, settings.dataDir, "site"),
        uplinks: new FileVersions(durableFiles, settings.dataDir, "uplinks"),
      },
      dataDir: settings.dataDir,
      status: () => ({ links: options.isUp ? linksOf(uplinks.current, options.isUp) : [] }),
      reads: { found: [], readSoon: () => {} },
      uplinks: () => whole.uplinks,
      version: "0",
      instance: () => null,
      ending: new AbortController().signal,
      lookElsewhere: options.lookElsewhere ?? (() => Promise.resolve(null)),
      audit: (outcome) => void outcomes.push(outcome),
    },
    1_000,
  );
  const setup = new Setup({
    ...changing,
    settings,
    uplinks: () => uplinks.current,
    gateway: {
      readDay: () => () => Promise.reject(new Error("nothing is read here")),
      gatewayNow: () => 1_764_000_000_000,
    },
    credentialsDirectory: options.credentials ?? null,
  });
  t.after(() => setup.close());
  const operations = operationsOf([
    {
      serve: [...backupOperations(backup, setup.site, running), ...setupOperations(setup, running)],
    },
    ...(options.features?.(setup, settings) ?? []),
  ]);
  const shown = testParts({ isSetupOn: true, site: running, audit, operations });
  const app = createApp(shown, { ...OPTIONS, ...TOKENS });
  t.after(() => app.close());
  const ask = async (
    method: "GET" | "PUT" | "POST",
    url: string,
    payload?: object | string,
    headers: Record<string, string> = {},
  ) => {
    const answer = await app.inject({
      method,
      url: `/api/v1/setup${url === "" ? "" : `/${url}`}`,
      headers: { host: "localhost", authorization: `Bearer ${TOKENS.token}`, ...headers },
      ...(payload !== undefined && { payload }),
    });
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: answer.json(),
      text: answer.body,
    };
  };
  const hash = async () => `"${(await ask("GET", "site")).body.hash}"`;
  const put = async (site: object) => ask("PUT", "site", site, { "if-match": await hash() });
  const { clock } = changing;
  return {
    path,
    uplinksPath,
    directory,
    running,
    configuration,
    uplinks,
    entries,
    setup,
    backup,
    clock,
    ask,
    put,
    hash,
    turn,
    reloader,
    outcomes,
  };
}

const linksOf = (uplinks: readonly Uplink[], isUp: (uplink: Uplink) => boolean) =>
  uplinks.map((uplink) => ({
    name: "mqtt",
    uplink: uplink.name,
    isConnected: isUp(uplink),
  })) as unknown as AgentStatus["links"];

/** What takes signed documents, over real files: a running site, its uplinks, and a disk that may be full. */
import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { Reloader } from "../../src/agent/reload.ts";
import { examineFiles } from "../../src/cli/configuration.ts";
import { createConfigurationFiles } from "../../src/cli/configuration-files.ts";
import { loadSettings } from "../../src/config/settings.ts";
import type { AgentStatus } from "../../src/core/agent-status.ts";
import { ReplaceableSite } from "../../src/core/site-source.ts";
import type { Uplink } from "../../src/core/uplink.ts";
import { ChangeTurn } from "../../src/features/setup/change-turn.ts";
import { DocumentKeys } from "../../src/features/setup/document-keys.ts";
import type { EditedPart } from "../../src/features/setup/edited-part.ts";
import { FileEditor } from "../../src/features/setup/file-editor.ts";
import { filePolicy } from "../../src/features/setup/file-policy.ts";
import { FileVersions } from "../../src/features/setup/file-versions.ts";
import { type DocumentResult, RemoteConfiguration } from "../../src/features/setup/remote.ts";
import { signDocument } from "../../src/features/setup/signed-document.ts";
import { TrialJournal } from "../../src/features/setup/trial-journal.ts";
import { type DurableFiles, durableFiles } from "../../src/lib/durable-file.ts";
import { ManualClock } from "./manual-clock.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { tempDirectory } from "./temp-database.ts";

const NOW_MS = Date.UTC(2026, 10, 23, 12);
const TRIAL_MS = 10_000;
/** Sensors that the gateway has records of. */
const RECORDED = ["1", "2"];
export const REPLY = { uplink: "main", broker: "mqtt://b", responseTopic: null, correlation: null };
export const siteOf = (...codes: string[]) => ({
  site: "plant-7",
  sensors: codes.map((code) => ({ code, type: 40, kinds: ["rpm"] })),
});
export const uplinksOf = (...hosts: string[]) => ({
  uplinks: hosts.map((host, i) => ({ name: `cloud${i || ""}`, url: `mqtt://${host}` })),
});
export const text = (value: object) => `${JSON.stringify(value, null, 2)}\n`;

export function openDocuments(t: TestContext) {
  const directory = tempDirectory(t);
  const paths = { site: join(directory, "site.json"), uplinks: join(directory, "uplinks.json") };
  const keyPath = join(directory, "fleet.pub.pem");
  writeFileSync(paths.site, text(siteOf("1", "2")));
  writeFileSync(paths.uplinks, text(uplinksOf("old")));
  const newKey = () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    writeFileSync(keyPath, publicKey.export({ type: "spki", format: "pem" }));
    return privateKey;
  };
  const key = newKey();
  const env = {
    GATEWAY_URL: "http://gateway",
    MQTT_URL: "mqtt://broker",
    SITE_FILE: paths.site,
    UPLINKS_FILE: paths.uplinks,
    CONFIG_PUBLIC_KEY_FILE: keyPath,
    DATA_DIR: join(directory, "data"),
  };
  const loaded = loadSettings(env, { cwd: directory });
  const { configuration: whole, faults } = examineFiles(loaded);
  assert.ok(whole, JSON.stringify(faults));
  const site = new ReplaceableSite(whole.site);
  const flags = { text: () => null } as never;
  const configuration = createConfigurationFiles({ env, cwd: directory, flags }, loaded);
  const uplinks = {
    current: whole.uplinks.filter(({ name }) => name !== "main"),
    main: whole.uplinks.find(({ name }) => name === "main") ?? null,
    replace(next: readonly Uplink[]) {
      this.current = [...next];
      return Promise.resolve();
    },
  };
  const logger = new RecordingLogger();
  const { lines } = logger;
  const reloader = new Reloader(
    {
      files: configuration,
      site,
      uplinks,
      digest: () => "d",
      whyUnwritable: async () => null,
      logger,
    },
    configuration.texts(),
  );
  const keys = new DocumentKeys(keyPath, logger);
  reloader.onReload((by) => keys.renew(by));
  const clock = new ManualClock(NOW_MS);
  /** Only a session with the host `old` or `new` comes up. */
  const status = () =>
    ({
      links: uplinks.current.map(({ name, urls }) => ({
        name: "mqtt",
        uplink: name,
        isConnected: /old|new/.test(String(urls)),
      })),
    }) as unknown as AgentStatus;
  /** Takes `left` files; full from then on, until two more were tried. */
  const disk = { left: Infinity, tries: 0 };
  const write = (path: string, content: string) => {
    if (disk.left-- > 0) return durableFiles.write(path, content);
    disk.tries += 1;
    if (disk.tries === 3) disk.left = Infinity;
    throw new Error("ENOSPC: no space left on device, write");
  };
  const journal = new TrialJournal({ ...durableFiles, write }, env.DATA_DIR);
  const turn = new ChangeTurn();
  const remote = new RemoteConfiguration(
    {
      reloader,
      configuration,
      journal,
      paths,
      policy: filePolicy(whole.settings, {}),
      turn,
      whyUnwritable: () => Promise.resolve(null),
      keys: () => keys.current,
      ending: new AbortController().signal,
      site: () => site.current,
      status,
      reads: {
        get found() {
          return site.current.sensors.flatMap(({ code, kinds }) =>
            kinds.map((kind) => ({
              sensor: code,
              kind,
              hadRecords: RECORDED.includes(code),
              foundAt: RECORDED.includes(code) ? clock.monotonic() : null,
            })),
          );
        },
        readSoon: () => {},
      },
      clock,
      logger,
    },
    TRIAL_MS,
  );
  let version = 0;
  const take = async (content: object, signer: KeyObject = key, during?: () => void) => {
    const results: DocumentResult[] = [];
    version += 1;
    const document = signDocument(
      { site: "plant-7", version, notAfterMs: NOW_MS * 2, content },
      signer,
    );
    const taken = remote.take(Buffer.from(document), REPLY, (result) => {
      results.push(result);
      if (result.outcome === "trial") during?.();
    });
    const done = taken.then(() => true);
    while (!(await Promise.race([done, clock.advance(500)])));
    return results;
  };
  const found = () => ({
    site: readFileSync(paths.site, "utf8"),
    uplinks: readFileSync(paths.uplinks, "utf8"),
  });
  return {
    take,
    found,
    paths,
    keyPath,
    keys,
    newKey,
    reloader,
    remote,
    lines,
    journal,
    uplinks,
    disk,
    turn,
  };
}

/** The editor of the set-up page for the uplinks file, with a page that sends its text. */
export function uplinksEditor(
  paths: { readonly uplinks: string },
  reloader: Reloader,
  turn: ChangeTurn,
  files: DurableFiles = durableFiles,
): FileEditor {
  const part: EditedPart = {
    setting: "UPLINKS_FILE",
    path: paths.uplinks,
    text: () => durableFiles.read(paths.uplinks),
    shown: (content) => ({ text: content, content }),
    written: (content) => ({ text: String(content) }),
    check: () => ({ faults: [], warnings: [], changes: [] }),
    safe: (faults) => faults,
  };
  const versions = new FileVersions(files, join(dirname(paths.uplinks), "data"), "uplinks");
  const runtime = { clock: new ManualClock(), logger: new RecordingLogger() };
  return new FileEditor({ files, reloader, versions, turn, ...runtime }, part);
}

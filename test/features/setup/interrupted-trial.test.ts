/** A power cut during a trial, and a start whose disk takes nothing: it reads and publishes, and takes the trial back later. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import { openAgent } from "../../../src/agent/agent.ts";
import { recoverTrial } from "../../../src/cli/recover-trial.ts";
import { bindSite, loadSettings } from "../../../src/config/settings.ts";
import { loadSite } from "../../../src/config/site.ts";
import { takeBackInterrupted } from "../../../src/features/setup/interrupted-trial.ts";
import { TrialJournal } from "../../../src/features/setup/trial-journal.ts";
import { durableFiles } from "../../../src/lib/durable-file.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { FIRST, openSetup, sensor, withSensors } from "../../support/open-setup.ts";
import { fillDisk, smallDisk, WITHOUT_MOUNT } from "../../support/small-disk.ts";
import { tempDirectory } from "../../support/temp-database.ts";

const OLD = { site: JSON.stringify(FIRST), uplinks: null };
const NEW = { site: JSON.stringify(withSensors(sensor("1"))), uplinks: null };
const reply = { uplink: "cloud", broker: "b", responseTopic: null, correlation: null };

test("a start on a full disk after a trial was cut – goes on, and takes the trial back once the disk allows", async (t) => {
  const disk = smallDisk(t);
  if (disk === null) return t.skip(WITHOUT_MOUNT);
  const paths = { site: join(disk, "site.json"), uplinks: null };
  const env = { SITE_FILE: paths.site, DATA_DIR: join(disk, "data") };
  writeFileSync(paths.site, OLD.site);
  const journal = new TrialJournal(durableFiles, env.DATA_DIR);
  journal.begin({ version: 7, digest: "d", before: OLD, after: NEW, startedAtMs: 1, reply });
  journal.write(paths, NEW, OLD);
  const giveBack = fillDisk(disk);

  const required = { GATEWAY_URL: "http://g", MQTT_URL: "mqtt://b", GATEWAY_TIMEZONE: "UTC" };
  const { settings } = loadSettings({ ...required, ...env }, { cwd: disk });
  assert.ok(settings);
  let told = "";
  const stderr = { write: (text: string) => (told += text) };
  assert.equal(await recoverTrial(settings, stderr as never), null);
  assert.match(told, /ENOSPC.*what the files say is in effect until the disk takes it/);

  const { clock, turn, reloader, running } = openSetup(t, { env });
  const outcomes: string[] = [];
  const report = ({ outcome }: { outcome: string }) => void outcomes.push(outcome);
  const parts = { journal, paths, reloader, turn, clock, logger: silentLogger, report };
  const over = takeBackInterrupted(parts, new AbortController().signal);
  assert.match(turn.held ?? "", /being taken back/);
  assert.deepEqual([running.current.sensors[0]?.code, outcomes], ["1", []]);
  giveBack();
  await clock.advance(10_000);
  await over;
  assert.equal(readFileSync(paths.site, "utf8"), OLD.site);
  assert.deepEqual([running.current.sensors[0]?.code, outcomes], ["40001", ["rolled_back"]]);
  assert.deepEqual([journal.trial, journal.accepted?.version, turn.held], [null, 7, null]);
});

test("a start that fails after it took a trial back – is in the audit log: the next start finds no trial any more", async (t) => {
  const directory = tempDirectory(t);
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  t.after(() => taken.close());
  const env = {
    GATEWAY_URL: "http://127.0.0.1:9",
    GATEWAY_TIMEZONE: "UTC",
    MQTT_URL: "mqtt://127.0.0.1:9",
    SITE_FILE: join(directory, "site.json"),
    DATA_DIR: join(directory, "data"),
    HTTP_PORT: String((taken.address() as AddressInfo).port),
  };
  const paths = { site: env.SITE_FILE, uplinks: null };
  const journal = new TrialJournal(durableFiles, env.DATA_DIR);
  journal.begin({ version: 7, digest: "d", before: OLD, after: NEW, startedAtMs: 1, reply });
  journal.write(paths, NEW, OLD);
  const { settings } = loadSettings(env, { cwd: directory });
  const { site } = loadSite(OLD.site, paths.site);
  assert.ok(settings && site);
  const recovered = await recoverTrial(settings, { write: () => true } as never);
  const options = { settings: bindSite(settings, site.site), site, logger: silentLogger };
  const { configuration: files } = openSetup(t);
  const opening = openAgent({ ...options, files, recovered, isPortRequired: true });
  await assert.rejects(opening, { code: "EADDRINUSE" });
  const db = new Sqlite(join(env.DATA_DIR, "gateside.db"), { readonly: true });
  t.after(() => db.close());
  const entries = db.prepare("SELECT what, detail, outcome FROM audit").all();
  assert.deepEqual(entries, [
    { what: "configuration", detail: "version 7", outcome: "rolled_back" },
  ]);
});

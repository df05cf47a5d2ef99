/** Backup and restore of a stopped box: the two files, as they are on disk. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { digestOf } from "../../../src/features/setup/backup.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import { publishAll } from "../../support/collecting.ts";
import { freePort, skipWithoutMosquitto, startMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild } from "../../support/plant.ts";
import { runCommand } from "../../support/run-command.ts";
import { storeOptions } from "../../support/temp-database.ts";

/** Nobody stands for the service's user. */
const SERVICE = 65_534;
const SECRET = "pass-of-the-cloud";
const SITE = {
  site: "plant-7",
  sensors: [
    {
      code: "30007",
      type: 12,
      kinds: ["loop"],
      channels: { channel1: { unit: "bar", low: 0, high: 10 } },
    },
  ],
};
const uplink = (name: string, more: object = {}) => ({
  name,
  url: `mqtt://${name}.example:1883`,
  ...more,
});

/** A box that was set up and never run. */
function openBox(t: TestContext, uplinks: readonly object[], site: object = SITE) {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-backup-"));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  const path = (name: string) => join(cwd, name);
  writeFileSync(path("cloud.password"), `${SECRET}\n`);
  writeFileSync(path("site.json"), JSON.stringify(site));
  writeFileSync(path("uplinks.json"), JSON.stringify({ uplinks }));
  const env = {
    GATEWAY_URL: "http://user:gateway-secret@127.0.0.1:9",
    GATEWAY_TIMEZONE: "UTC",
    SITE_FILE: path("site.json"),
    UPLINKS_FILE: path("uplinks.json"),
    DATA_DIR: path("data"),
    HTTP_PORT: "off",
    HTTP_TOKEN: "a-token-that-nobody-reads",
    HEARTBEAT_URL: "https://watch.example/secret-heartbeat",
    ALARM_WEBHOOK_URL: "https://hook.example/secret-hook",
  };
  const run = (...words: string[]) => runCommand(words, { env, cwd });
  const read = (name: string) => JSON.parse(readFileSync(path(name), "utf8"));
  return { cwd, env, path, run, read };
}

const CLOUD = uplink("cloud", { username: "plant-7-user", passwordFile: "cloud.password" });

test("backup – the two files without secrets, mode 0600, never over a file, and a digest over all of it", async (t) => {
  const box = openBox(t, [CLOUD, uplink("local")]);
  const made = await box.run("backup", "--out", "first.json");
  assert.equal(made.code, 0, made.stderr);
  assert.equal(statSync(box.path("first.json")).mode & 0o777, 0o600);
  const backup = box.read("first.json");
  assert.deepEqual([backup.gatesideBackup, backup.site, backup.siteFile], [1, "plant-7", SITE]);
  assert.deepEqual(backup.missing, [
    "ALARM_WEBHOOK_URL",
    "GATEWAY_URL",
    "HEARTBEAT_URL",
    "HTTP_TOKEN",
    "cloud.password",
    "cloud.username",
  ]);
  assert.deepEqual(backup.uplinksFile.uplinks, [
    uplink("cloud", { passwordFile: "cloud.password" }),
    uplink("local"),
  ]);
  assert.equal(backup.sha256, digestOf(backup));
  assert.equal(backup.settings.GATEWAY_URL, "http://127.0.0.1:9");
  const text = readFileSync(box.path("first.json"), "utf8");
  assert.doesNotMatch(text, /pass-of|plant-7-user|gateway-secret|nobody-reads|secret-h/);
  const again = await box.run("backup", "--out", "first.json");
  assert.equal(again.code, 2);
  assert.match(again.stderr, /exists/);
  assert.deepEqual(
    JSON.parse((await box.run("backup", "--out", "-")).stdout).missing,
    backup.missing,
  );
});

test("backup – an address without a secret is inside and not missing; of one with a query only the rest", async (t) => {
  const box = openBox(t, []);
  const made = async (more: object) => {
    const { stdout, stderr } = await runCommand(["backup", "--out", "-"], {
      env: { ...box.env, ...more },
      cwd: box.cwd,
    });
    const { missing, settings } = JSON.parse(stdout || stderr);
    return [missing.filter((name: string) => /^(GATEWAY|MQTT)/.test(name)), settings.MQTT_URL];
  };
  const plain = {
    GATEWAY_URL: "http://127.0.0.1:9",
    MQTT_URL: "mqtts://a.example,mqtts://b.example",
  };
  assert.deepEqual(await made(plain), [[], "mqtts://a.example,mqtts://b.example"]);
  const query = { ...plain, MQTT_URL: "wss://a.example/mqtt?key=secret-of-the-broker" };
  const [missing, url] = await made(query);
  assert.deepEqual(missing, ["MQTT_URL"]);
  assert.match(url, /^wss:\/\/a\.example\/mqtt/);
  assert.doesNotMatch(url, /secret/);
  const user = { ...plain, MQTT_URL: "mqtt://plant:secret-of-the-broker@a.example" };
  const [names, shown] = await made(user);
  assert.deepEqual(names, ["MQTT_PASSWORD", "MQTT_URL", "MQTT_USERNAME"]);
  assert.equal(shown, "mqtt://a.example");
});

test("restore – where one of the two files cannot be written, neither is", async (t) => {
  const box = openBox(t, [CLOUD]);
  await box.run("backup", "--out", "backup.json");
  const other = { ...SITE, sensors: [...SITE.sensors, { code: "5", type: 40, kinds: ["rpm"] }] };
  writeFileSync(box.path("site.json"), JSON.stringify(other));
  writeFileSync(box.path("uplinks.json"), JSON.stringify({ uplinks: [uplink("local")] }));
  // Nothing can be created under that name, as on a full disk.
  mkdirSync(box.path("uplinks.json.new"));
  const { code, stderr } = await box.run("restore", "backup.json", "--site", "plant-7");
  assert.equal(code, 1);
  assert.match(stderr, /; the files are as before\n$/);
  assert.deepEqual(box.read("site.json"), other);
  assert.ok(!readdirSync(box.cwd).includes("site.json.new"));
});

test("restore – says the difference, keeps the replaced files as versions and this box's own secrets; the same again is unchanged", async (t) => {
  const box = openBox(t, [CLOUD]);
  // It has run: its store has the audit log.
  const openOwn = () => openStore(storeOptions(box.path("data"), { uplinks: [] }));
  mkdirSync(box.path("data"));
  const ran = openOwn();
  ran.meta.set("instance", "0123456789ab");
  await ran.close();
  await box.run("backup", "--out", "backup.json");
  const files = readFileSync(box.path("uplinks.json"), "utf8");
  const changed = { ...SITE, sensors: [{ ...SITE.sensors[0], name: "Intake" }] };
  writeFileSync(box.path("site.json"), JSON.stringify(changed));
  const planned = await box.run("restore", "backup.json", "--dry-run");
  assert.match(planned.stdout, /sensor 30007 changes: name/);
  assert.deepEqual(box.read("site.json"), changed, "nothing is written");
  const misspelt = { ...box.env, HTTP_PROT: "8080" };
  const done = await runCommand(["restore", "backup.json"], { env: misspelt, cwd: box.cwd });
  assert.equal(done.code, 0);
  assert.match(done.stderr, /^warning: HTTP_PROT: .*\n$/, "each warning once");
  assert.match(done.stdout, /in effect at the next start/);
  assert.deepEqual(box.read("site.json"), SITE);
  assert.equal(readFileSync(box.path("uplinks.json"), "utf8"), files);
  assert.deepEqual(JSON.parse(box.read("data/configuration/versions/site-1.json").text), changed);
  const same = await box.run("restore", "backup.json");
  assert.deepEqual([same.code, same.stdout], [0, "unchanged\n"]);
  const store = openOwn();
  const [entry, ...more] = store.audit.newest(10, null);
  await store.close();
  assert.deepEqual([entry?.who, entry?.outcome, more], ["gateside restore", "saved", []]);
  assert.match(entry?.detail ?? "", /sensor 30007 changes: name/);
});

test("restore – by root, before the first start: what is in the service's directory is the service's, and it may read the files", {
  skip: process.getuid?.() === 0 ? skipWithoutBuild : "needs root",
}, async (t) => {
  const box = openBox(t, [CLOUD]);
  await box.run("backup", "--out", "backup.json");
  for (const name of ["site.json", "uplinks.json"]) rmSync(box.path(name));
  mkdirSync(box.path("etc"));
  mkdirSync(box.path("data"));
  chmodSync(box.cwd, 0o755);
  // The program becomes that user, who may not get at this checkout.
  const program = box.path("dist");
  mkdirSync(program);
  for (const part of ["gateside.js", "better_sqlite3.node", "package.json"])
    copyFileSync(join("dist", part), join(program, part));
  chownSync(box.path("etc"), 0, SERVICE);
  chownSync(box.path("data"), SERVICE, SERVICE);
  writeFileSync(box.path("data/site.json"), JSON.stringify({ ...SITE, machines: [] }));
  const restore = (siteFile: string) =>
    spawnSync(process.execPath, [join(program, "gateside.js"), "restore", "backup.json"], {
      cwd: box.cwd,
      encoding: "utf8",
      env: {
        ...box.env,
        SITE_FILE: box.path(siteFile),
        UPLINKS_FILE: box.path("etc/uplinks.json"),
      },
    });
  for (const siteFile of ["etc/site.json", "data/site.json"]) {
    const { status, stderr } = restore(siteFile);
    assert.equal(status, 0, stderr);
  }
  const ownerOf = (name: string) => {
    const { uid, gid } = statSync(box.path(name));
    return [name, uid, gid];
  };
  const below = readdirSync(box.path("data"), { recursive: true, encoding: "utf8" });
  assert.ok(below.length >= 4);
  for (const name of below.map((one) => `data/${one}`))
    assert.deepEqual(ownerOf(name), [name, SERVICE, SERVICE]);
  for (const name of ["etc/site.json", "etc/uplinks.json"])
    assert.deepEqual(ownerOf(name), [name, 0, SERVICE]);
});

test("restore – on another box an uplink that lacks its secrets is not used and named; a secret serves only its own name and address", async (t) => {
  const box = openBox(t, [CLOUD, uplink("local")]);
  await box.run("backup", "--out", "backup.json");
  const text = readFileSync(box.path("backup.json"), "utf8");
  // The same name at another address, and another name at the same address.
  const other = openBox(t, [
    { ...CLOUD, url: "mqtt://elsewhere.example:1883" },
    { ...CLOUD, name: "second" },
  ]);
  writeFileSync(other.path("backup.json"), text);
  const done = await other.run("restore", "backup.json");
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /uplink cloud \(username, password\): not used/);
  assert.deepEqual(other.read("uplinks.json").uplinks, [
    uplink("cloud", { passwordFile: "cloud.password", enabled: false }),
    uplink("local"),
  ]);
  const check = await other.run("check", "--json");
  assert.deepEqual(
    JSON.parse(check.stdout).uplinks.map(({ name }: { name: string }) => name),
    ["local"],
  );
});

test("restore – a stopped box asks its brokers whether the box of the backup is running, and says where it could not ask", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const broker = await startMosquitto();
  t.after(() => broker.close());
  const uplinks = [
    { name: "local", url: broker.url },
    { name: "dead", url: `mqtt://127.0.0.1:${await freePort()}` },
  ];
  const box = openBox(t, uplinks);
  await box.run("backup", "--out", "backup.json");
  const says = (state: "online" | "offline", instance: string) =>
    publishAll(broker.url, [
      {
        topic: "gateside/plant-7/agent/state",
        payload: JSON.stringify({ state, instance }),
        retain: true,
      },
    ]);
  // As a new machine: the same settings, and no site file yet.
  const fresh = openBox(t, uplinks);
  rmSync(fresh.path("site.json"));
  writeFileSync(fresh.path("backup.json"), readFileSync(box.path("backup.json")));
  const restore = (...flags: string[]) => fresh.run("restore", "backup.json", ...flags);
  await says("online", "aaaaaaaaaaaa");
  const refused = await restore();
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /warning: .*could not be asked at mqtt:\/\/127\.0\.0\.1/);
  assert.match(
    refused.stderr,
    /error: .*instance aaaaaaaaaaaa\) is online as site "plant-7" at mqtt:.*repeat its site's name/,
  );
  assert.throws(() => fresh.read("site.json"));
  await says("offline", "aaaaaaaaaaaa");
  const planned = await restore("--dry-run");
  assert.equal(planned.code, 0, planned.stderr);
  await says("online", "aaaaaaaaaaaa");
  const repeated = await restore("--site", "plant-7");
  assert.equal(repeated.code, 0, repeated.stderr);
  assert.deepEqual(fresh.read("site.json"), SITE);
});

test("restore – another site's backup needs its name; what is truncated, altered or newer is refused with that word", async (t) => {
  const box = openBox(t, [uplink("local")]);
  await box.run("backup", "--out", "backup.json");
  const text = readFileSync(box.path("backup.json"), "utf8");
  const other = openBox(t, [uplink("local")], { ...SITE, site: "plant-8" });
  const restore = async (content: string, ...flags: string[]) => {
    writeFileSync(other.path("backup.json"), content);
    const { code, stderr, stdout } = await other.run("restore", "backup.json", ...flags);
    assert.equal(other.read("site.json").site, code === 0 ? "plant-7" : "plant-8");
    return `${code} ${stderr}${stdout}`;
  };
  assert.match(await restore(text), /^1 error: the backup is of site "plant-7".*--site/);
  assert.match(await restore(text, "--site", "plant-8"), /^1 /);
  assert.match(await restore(text.slice(0, 300)), /^1 error: the backup is truncated/);
  assert.match(await restore(text.replace('"bar"', '"kPa"')), /^1 error: the backup was altered/);
  const newer = JSON.stringify({ ...JSON.parse(text), gatesideBackup: 2, version: "0.5.3" });
  assert.match(await restore(newer), /^1 error: the backup needs Gateside 0\.5 or newer/);
  assert.match(await restore('{"site":"plant-7"}'), /^1 error: this is not a backup/);
  assert.match(await restore(text, "--site", "plant-7"), /^0 .*next start/s);
});

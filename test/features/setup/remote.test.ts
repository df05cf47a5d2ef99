/** Trials of signed documents, over real files: what is kept, what comes back, and how it is reported. */
import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { filePolicy } from "../../../src/agent/file-policy.ts";
import { examineFiles } from "../../../src/cli/configuration.ts";
import { createConfigurationFiles } from "../../../src/cli/configuration-files.ts";
import { loadSettings } from "../../../src/config/settings.ts";
import type { AgentStatus } from "../../../src/core/agent-status.ts";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import type { Uplink } from "../../../src/core/uplink.ts";
import type { EditedPart } from "../../../src/features/setup/edited-part.ts";
import { FileEditor } from "../../../src/features/setup/file-editor.ts";
import { FileVersions } from "../../../src/features/setup/file-versions.ts";
import { Reloader } from "../../../src/features/setup/reload.ts";
import { type DocumentResult, RemoteConfiguration } from "../../../src/features/setup/remote.ts";
import { signDocument } from "../../../src/features/setup/signed-document.ts";
import { TrialJournal } from "../../../src/features/setup/trial-journal.ts";
import { durableFiles } from "../../../src/lib/durable-file.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { tempDirectory } from "../../support/temp-database.ts";

const NOW_MS = Date.UTC(2026, 10, 23, 12);
const TRIAL_MS = 10_000;
/** Sensors that the gateway has records of. */
const RECORDED = ["1", "2"];
const REPLY = { uplink: "main", broker: "mqtt://b", responseTopic: null, correlation: null };
const siteOf = (...codes: string[]) => ({
  site: "plant-7",
  sensors: codes.map((code) => ({ code, type: 40, kinds: ["rpm"] })),
});
const uplinksOf = (...hosts: string[]) => ({
  uplinks: hosts.map((host, i) => ({ name: `cloud${i || ""}`, url: `mqtt://${host}` })),
});
const text = (value: object) => `${JSON.stringify(value, null, 2)}\n`;

function setUp(t: TestContext) {
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
  const { configuration: whole, faults, documentKeys } = examineFiles(loaded);
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
    documentKeys,
  );
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
  const remote = new RemoteConfiguration(
    {
      reloader,
      configuration,
      journal,
      paths,
      policy: filePolicy(whole.settings, {}),
      isRestoring: () => false,
      whyUnwritable: () => Promise.resolve(null),
      keys: () => reloader.documentKeys,
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
  return { take, found, paths, keyPath, newKey, reloader, remote, lines, journal, uplinks, disk };
}

for (const [host, outcome] of [
  ["new", "applied"],
  ["broken", "rolled_back"],
] as const)
  test(`signed document – a disk that is full at the end of its trial delays that: ${outcome}`, async (t) => {
    const { take, found, journal, disk, lines } = setUp(t);
    const results = await take({ uplinks: uplinksOf(host) }, undefined, () => {
      disk.left = 0;
    });
    assert.equal(results.at(-1)?.outcome, outcome);
    assert.equal(disk.tries, 3);
    const uplinks = text(uplinksOf(outcome === "applied" ? "new" : "old"));
    assert.equal(found().uplinks, uplinks);
    assert.deepEqual([journal.accepted?.outcome, journal.trial], [outcome, null]);
    assert.equal(lines.filter(({ message }) => /trying again/.test(message)).length, 1);
  });

test("signed document – a disk that is full from its second file on leaves no half of it", async (t) => {
  const { take, found, journal, disk } = setUp(t);
  const former = found();
  disk.left = 2;
  const [refused] = await take({ site: siteOf("1"), uplinks: uplinksOf("new") });
  assert.deepEqual([refused?.reason, disk.tries], ["not_writable", 3]);
  assert.deepEqual([found(), journal.trial, journal.accepted], [former, null, null]);
});

test("signed document – a save that could not be applied is put back, and stands in no document's way", async (t) => {
  const { take, found, paths, reloader, uplinks } = setUp(t);
  const { replace } = uplinks;
  uplinks.replace = () => {
    uplinks.replace = replace;
    return Promise.reject(new Error("ENOSPC: no space left on device, write"));
  };
  const part: EditedPart = {
    setting: "UPLINKS_FILE",
    path: paths.uplinks,
    text: () => durableFiles.read(paths.uplinks),
    shown: (content) => ({ text: content, content }),
    written: (content) => ({ text: String(content) }),
    check: () => ({ faults: [], warnings: [], changes: [] }),
    safe: (faults) => faults,
  };
  const files = { ...durableFiles };
  const editor = new FileEditor(
    {
      files,
      reloader,
      versions: new FileVersions(files, join(dirname(paths.site), "data"), "uplinks"),
      isTrialRunning: () => false,
      turn: { isTaken: false },
      clock: new ManualClock(),
      logger: new RecordingLogger(),
    },
    part,
  );
  const save = (host: string) => editor.save(text(uplinksOf(host)), editor.read().hash, "anna");
  assert.equal((await save("new")).outcome, "faults");
  assert.equal(found().uplinks, text(uplinksOf("old")));
  reloader.look();
  assert.deepEqual([reloader.state.pendingReload, reloader.state.configurationFaults], [[], []]);
  assert.equal((await take({ uplinks: uplinksOf("new") }))[0]?.outcome, "trial");

  uplinks.replace = () => {
    uplinks.replace = replace;
    files.write = () => {
      throw new Error("ENOSPC: no space left on device, write");
    };
    return Promise.reject(new Error("ENOSPC"));
  };
  const full = await save("old");
  assert.equal(full.outcome, "not_writable");
  assert.match("detail" in full ? full.detail : "", /holds the refused change/);
});

test("signed document – a file that somebody edits during a failing trial stays, the other goes back, and it was never applied", async (t) => {
  const { take, found, paths, journal, uplinks } = setUp(t);
  const edited = text(siteOf("1", "2", "3"));
  const results = await take({ site: siteOf("1"), uplinks: uplinksOf("broken") }, undefined, () =>
    writeFileSync(paths.site, edited),
  );
  assert.deepEqual(
    results.map(({ ok, outcome, reason }) => [ok, outcome, reason]),
    [
      [true, "trial", null],
      [false, "superseded", "changed_here"],
    ],
  );
  assert.match(results[1]?.detail ?? "", /site\.json was changed .* kept; .*every link/);
  assert.deepEqual(found(), { site: edited, uplinks: text(uplinksOf("old")) });
  assert.match(String(uplinks.current[0]?.urls), /old/);
  assert.equal(journal.accepted?.outcome, "superseded");
});

test("signed document – a file edited during a trial that is won is kept with the rest, and not told as applied", async (t) => {
  const { take, found, paths } = setUp(t);
  const edited = text(siteOf("1", "2", "3"));
  const results = await take({ uplinks: uplinksOf("new") }, undefined, () =>
    writeFileSync(paths.site, edited),
  );
  const last = results.at(-1);
  assert.deepEqual([last?.outcome, last?.reason], ["superseded", "changed_here"]);
  assert.deepEqual(found(), { site: edited, uplinks: text(uplinksOf("new")) });
});

test("signed document – a key that the file no longer has is not valid after a reload, also if the site file has a fault", async (t) => {
  const { take, newKey, reloader, paths, lines } = setUp(t);
  newKey();
  writeFileSync(paths.site, "{");
  assert.equal((await reloader.reload("test")).outcome, "refused");
  const [refused] = await take({ uplinks: uplinksOf("new") });
  assert.equal(refused?.reason, "signature");
  assert.ok(lines.some((line) => JSON.stringify(line).includes("keys of signed documents")));
});

test("signed document – a key file that cannot be read withdraws no key", async (t) => {
  const { newKey, reloader, keyPath } = setUp(t);
  const [before] = reloader.documentKeys;
  newKey();
  writeFileSync(keyPath, "torn");
  assert.equal((await reloader.reload("test")).outcome, "refused");
  assert.deepEqual(reloader.documentKeys, [before]);
});

test("signed document – after a reload only the keys that are in the file now are valid", async (t) => {
  const { take, newKey, reloader } = setUp(t);
  const next = newKey();
  const reasons = async (signer?: KeyObject) =>
    (await take({ site: siteOf("1") }, signer)).at(-1)?.reason;
  assert.equal(await reasons(next), "signature");
  await reloader.reload("a person");
  assert.equal(await reasons(), "signature", "the removed key");
  assert.equal(await reasons(next), null);
});

test("signed document – 5,000 unsigned ones write little to the log, and each gets its response", async (t) => {
  const { remote, lines } = setUp(t);
  let responses = 0;
  const count = () => (responses += 1);
  for (let i = 0; i < 5_000; i++) {
    const bytes = Buffer.from(JSON.stringify({ payload: `AAAA${i}`, signature: "AAAA" }));
    await remote.take(bytes, REPLY, count);
  }
  assert.equal(responses, 5_000);
  assert.ok(lines.length <= 2, `${lines.length} lines`);
});

for (const [what, content, missing] of [
  ["all codes are wrong", { site: siteOf("8", "9") }, /8 rpm: no records, 9 rpm: no records/],
  ["one code is wrong", { site: siteOf("1", "9") }, /good as before: 9 rpm: no records/],
  [
    "the only sensor left is another one",
    { site: { ...siteOf(), sensors: [{ code: "9", type: 41, kinds: ["rpm"] }] } },
    /every sensor: no records/,
  ],
  ["a link that it adds is down", { uplinks: uplinksOf("old", "broken") }, /link cloud1 mqtt/],
  ["a link that it changes is down", { uplinks: uplinksOf("broken") }, /every link/],
] as const)
  test(`signed document – the trial fails where ${what}`, async (t) => {
    const { take, found } = setUp(t);
    const before = found();
    const last = (await take(content)).at(-1);
    assert.deepEqual([last?.outcome, last?.reason], ["rolled_back", "trial"]);
    assert.match(last?.detail ?? "", missing);
    assert.deepEqual(found(), before);
  });

test("signed document – a link that was down before, a removed sensor and a new one without records hold nothing up", async (t) => {
  const { take, paths, reloader } = setUp(t);
  writeFileSync(paths.uplinks, text(uplinksOf("old", "broken")));
  await reloader.reload("a person");
  const added = { code: "9", type: 41, kinds: ["rpm"] };
  const results = await take({ site: { ...siteOf(), sensors: [...siteOf("1").sensors, added] } });
  const last = results.at(-1);
  assert.equal(last?.outcome, "applied", last?.detail);
});

test("signed document – it may name what the file names already or what a form may, and no other file of this box", async (t) => {
  const { take, found, paths, reloader } = setUp(t);
  const elsewhere = join(tempDirectory(t), "password");
  writeFileSync(elsewhere, "of another service");
  const before = found();
  const named = (host: string, passwordFile: string) => {
    const [uplink] = uplinksOf(host).uplinks;
    return { uplinks: [{ ...uplink, username: "a", passwordFile }] };
  };
  const [refused] = await take({ uplinks: named("new", elsewhere) });
  assert.deepEqual([refused?.reason, found()], ["content", before]);
  assert.match(refused?.detail ?? "", /is outside the allowed directories/);
  writeFileSync(paths.uplinks, text(named("old", elsewhere)));
  assert.equal((await reloader.reload("test")).outcome, "applied");
  const [kept] = await take({ site: siteOf("1", "2", "3"), uplinks: named("old", elsewhere) });
  assert.equal(kept?.outcome, "trial");
  const [moved] = await take({ uplinks: named("new", elsewhere) });
  assert.equal(moved?.reason, "content");
});

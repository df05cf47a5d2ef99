/** Trials of signed documents, over real files: what is kept, what comes back, and how it is reported. */
import assert from "node:assert/strict";
import type { KeyObject } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { durableFiles } from "../../../src/lib/durable-file.ts";
import { tempDirectory } from "../../support/temp-database.ts";
import {
  openDocuments,
  REPLY,
  siteOf,
  text,
  uplinksEditor,
  uplinksOf,
} from "../../support/tried-documents.ts";

for (const [host, outcome] of [
  ["new", "applied"],
  ["broken", "rolled_back"],
] as const)
  test(`signed document – a disk that is full at the end of its trial delays that: ${outcome}`, async (t) => {
    const { take, found, journal, disk, lines } = openDocuments(t);
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
  const { take, found, journal, disk } = openDocuments(t);
  const former = found();
  disk.left = 2;
  const [refused] = await take({ site: siteOf("1"), uplinks: uplinksOf("new") });
  assert.deepEqual([refused?.reason, disk.tries], ["not_writable", 3]);
  assert.deepEqual([found(), journal.trial, journal.accepted], [former, null, null]);
});

test("signed document – a save that could not be applied is put back, and stands in no document's way", async (t) => {
  const { take, found, paths, reloader, uplinks, turn } = openDocuments(t);
  const { replace } = uplinks;
  uplinks.replace = () => {
    uplinks.replace = replace;
    return Promise.reject(new Error("ENOSPC: no space left on device, write"));
  };
  const files = { ...durableFiles };
  const editor = uplinksEditor(paths, reloader, turn, files);
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
  const { take, found, paths, journal, uplinks } = openDocuments(t);
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
  const { take, found, paths } = openDocuments(t);
  const edited = text(siteOf("1", "2", "3"));
  const results = await take({ uplinks: uplinksOf("new") }, undefined, () =>
    writeFileSync(paths.site, edited),
  );
  const last = results.at(-1);
  assert.deepEqual([last?.outcome, last?.reason], ["superseded", "changed_here"]);
  assert.deepEqual(found(), { site: edited, uplinks: text(uplinksOf("new")) });
});

test("signed document – a key that the file no longer has is not valid after a reload, also if the site file has a fault", async (t) => {
  const { take, newKey, reloader, paths, lines } = openDocuments(t);
  newKey();
  writeFileSync(paths.site, "{");
  assert.equal((await reloader.reload("test")).outcome, "refused");
  const [refused] = await take({ uplinks: uplinksOf("new") });
  assert.equal(refused?.reason, "signature");
  assert.ok(lines.some((line) => JSON.stringify(line).includes("keys of signed documents")));
});

test("signed document – a key file that cannot be read withdraws no key", async (t) => {
  const { newKey, reloader, keyPath, keys } = openDocuments(t);
  const [before] = keys.current;
  newKey();
  writeFileSync(keyPath, "torn");
  assert.equal((await reloader.reload("test")).outcome, "refused");
  assert.deepEqual(keys.current, [before]);
});

test("signed document – after a reload only the keys that are in the file now are valid", async (t) => {
  const { take, newKey, reloader } = openDocuments(t);
  const next = newKey();
  const reasons = async (signer?: KeyObject) =>
    (await take({ site: siteOf("1") }, signer)).at(-1)?.reason;
  assert.equal(await reasons(next), "signature");
  await reloader.reload("a person");
  assert.equal(await reasons(), "signature", "the removed key");
  assert.equal(await reasons(next), null);
});

test("signed document – 5,000 unsigned ones write little to the log, and each gets its response", async (t) => {
  const { remote, lines } = openDocuments(t);
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
    const { take, found } = openDocuments(t);
    const before = found();
    const last = (await take(content)).at(-1);
    assert.deepEqual([last?.outcome, last?.reason], ["rolled_back", "trial"]);
    assert.match(last?.detail ?? "", missing);
    assert.deepEqual(found(), before);
  });

test("signed document – a link that was down before, a removed sensor and a new one without records hold nothing up", async (t) => {
  const { take, paths, reloader } = openDocuments(t);
  writeFileSync(paths.uplinks, text(uplinksOf("old", "broken")));
  await reloader.reload("a person");
  const added = { code: "9", type: 41, kinds: ["rpm"] };
  const results = await take({ site: { ...siteOf(), sensors: [...siteOf("1").sensors, added] } });
  const last = results.at(-1);
  assert.equal(last?.outcome, "applied", last?.detail);
});

test("signed document – it may name what the file names already or what a form may, and no other file of this box", async (t) => {
  const { take, found, paths, reloader } = openDocuments(t);
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

/** What a signed document is compared with and goes back to: the configuration that is in effect, whole. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as turned } from "node:timers/promises";
import {
  openDocuments,
  siteOf,
  text,
  uplinksEditor,
  uplinksOf,
} from "../../support/tried-documents.ts";

/** A box on which the next change of its uplinks lasts until `goOn`; its sessions are closed meanwhile. */
async function whileReloading(t: TestContext, change: (box: Box) => Promise<unknown>) {
  const box = openDocuments(t);
  const { uplinks } = box;
  const { replace } = uplinks;
  const events = new EventEmitter();
  const begun = once(events, "begun");
  uplinks.replace = async (next) => {
    uplinks.replace = replace;
    const { current } = uplinks;
    uplinks.current = [];
    events.emit("begun");
    const [error] = await once(events, "go on");
    uplinks.current = error === null ? [...next] : current;
    if (error !== null) throw error;
  };
  const changed = change(box);
  await begun;
  return { ...box, changed, goOn: (error: Error | null) => events.emit("go on", error) };
}
type Box = ReturnType<typeof openDocuments>;

const reload = ({ paths, reloader }: Box) => {
  writeFileSync(paths.uplinks, text(uplinksOf("new")));
  return reloader.reload("a person");
};

test("signed document – a file that a reload refused is not taken for what ran: a failed trial could not go back to it", async (t) => {
  const { take, found, paths, reloader, uplinks } = openDocuments(t);
  writeFileSync(paths.uplinks, "{");
  assert.equal((await reloader.reload("a person")).outcome, "refused");
  const both = { site: siteOf("1", "2"), uplinks: uplinksOf("broken") };
  const [refused] = await take(both);
  assert.equal(refused?.reason, "changed_here");
  assert.match(refused?.detail ?? "", /UPLINKS_FILE was changed .* not in effect/);
  assert.deepEqual([found().uplinks, String(uplinks.current[0]?.urls)], ["{", "mqtt://old"]);
  writeFileSync(paths.uplinks, text(uplinksOf("old")));
  assert.equal((await reloader.reload("a person")).outcome, "unchanged");
  assert.equal((await take(both)).at(-1)?.outcome, "rolled_back");
  assert.equal(String(uplinks.current[0]?.urls), "mqtt://old");
});

test("signed document – one that comes during a reload waits for it, and must do as well as what the reload made", async (t) => {
  const { take, found, goOn, changed, uplinks } = await whileReloading(t, reload);
  const taken = take({ uplinks: uplinksOf("broken") });
  await turned();
  goOn(null);
  await changed;
  const last = (await taken).at(-1);
  assert.deepEqual([last?.outcome, last?.reason], ["rolled_back", "trial"]);
  assert.match(last?.detail ?? "", /every link/);
  assert.equal(found().uplinks, text(uplinksOf("new")));
  assert.equal(String(uplinks.current[0]?.urls), "mqtt://new");
});

test("signed document – one that comes during a reload that fails is refused: what was reloaded is no way back", async (t) => {
  const { take, goOn, changed, uplinks } = await whileReloading(t, reload);
  const taken = take({ uplinks: uplinksOf("broken") });
  await turned();
  goOn(new Error("ENOSPC: no space left on device, write"));
  await changed;
  assert.deepEqual(
    (await taken).map(({ reason }) => reason),
    ["changed_here"],
  );
  assert.equal(String(uplinks.current[0]?.urls), "mqtt://old");
});

test("signed document – one that comes while a save is being applied is refused, and the save stands", async (t) => {
  const save = async ({ paths, reloader, turn }: Box) => {
    const editor = uplinksEditor(paths, reloader, turn);
    return (await editor.save(text(uplinksOf("new")), editor.read().hash, "anna")).outcome;
  };
  const { take, found, goOn, changed, turn } = await whileReloading(t, save);
  const [refused] = await take({ uplinks: uplinksOf("broken") });
  assert.deepEqual(
    [refused?.reason, refused?.detail],
    ["trial_running", "another change is being saved; try again in a moment"],
  );
  goOn(null);
  assert.deepEqual([await changed, turn.held], ["saved", null]);
  assert.equal(found().uplinks, text(uplinksOf("new")));
  assert.equal((await take({ uplinks: uplinksOf("old") })).at(-1)?.outcome, "applied");
});

test("set-up – a save that comes while a signed document is on trial is refused", async (t) => {
  const { take, paths, reloader, turn } = openDocuments(t);
  const editor = uplinksEditor(paths, reloader, turn);
  const saves: Promise<{ readonly outcome: string }>[] = [];
  const results = await take({ site: siteOf("1") }, undefined, () => {
    saves.push(editor.save(text(uplinksOf("new")), editor.read().hash, "anna"));
  });
  assert.equal(results.at(-1)?.outcome, "applied");
  assert.deepEqual(await Promise.all(saves), [
    { outcome: "busy", detail: "a signed configuration is on trial; wait until the trial ends" },
  ]);
});

test("signed document – with a damaged record of the last one, none is taken for newer: an old one could be sent again", async (t) => {
  const { take, paths, journal } = openDocuments(t);
  assert.equal((await take({ site: siteOf("1") })).at(-1)?.outcome, "applied");
  const path = join(dirname(paths.site), "data", "configuration", "accepted.json");
  const whole = readFileSync(path, "utf8");
  for (const text of ["", "{}", whole.replace('"version":1', '"version":0'), whole.slice(1)]) {
    writeFileSync(path, text);
    const [refused] = await take({ site: siteOf("1", "2") });
    assert.deepEqual([refused?.reason, journal.accepted], ["version", null], text);
    assert.match(refused?.detail ?? "", /accepted\.json is damaged: delete that file/);
  }
  writeFileSync(path, whole.replace(/,"sha256":"[^"]*"/, ""));
  assert.equal(journal.accepted?.version, 1, "as an earlier release wrote it");
  rmSync(path);
  assert.equal((await take({ site: siteOf("1", "2") }))[0]?.outcome, "trial");
});

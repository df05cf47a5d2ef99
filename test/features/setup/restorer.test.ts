/** Restored backups over real files: what a full disk, a power cut or a failed trial leaves. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { EMPTY_SITE } from "../../../src/core/configuration/empty-site.ts";
import { digestOf } from "../../../src/features/setup/backup.ts";
import { TrialJournal } from "../../../src/features/setup/trial-journal.ts";
import { type DurableFiles, durableFiles } from "../../../src/lib/durable-file.ts";
import { openSetup, sensor, withSensors } from "../../support/open-setup.ts";

const uplinksOf = (host: string) => ({ uplinks: [{ name: "cloud", url: `mqtt://${host}` }] });

/** A box with the uplink `old`; only a link to `old` or `new` comes up. */
async function openBox(
  t: TestContext,
  files: Partial<DurableFiles> = {},
  more: Pick<Parameters<typeof openSetup>[1] & object, "lookElsewhere"> = {},
) {
  const box = openSetup(t, {
    ...more,
    uplinks: uplinksOf("old"),
    files,
    isUp: ({ urls }) => /old|new/.test(String(urls)),
  });
  const { ask, directory, path, uplinksPath } = box;
  const { body } = await ask("GET", "backup");
  const restore = (changes: object, query = "") => {
    const changed = { ...body, siteFile: withSensors(sensor("1")), ...changes };
    return ask("POST", `restore${query}`, { ...changed, sha256: digestOf(changed) });
  };
  const read = () => [path, uplinksPath].map((file) => readFileSync(file, "utf8"));
  const dataDir = join(directory, "data");
  const isOnTrial = () => existsSync(join(dataDir, "configuration", "trial.json"));
  return { ...box, restore, read, dataDir, isOnTrial };
}

test("restore – a disk that is full from its second file on leaves no half, and the next one waits until the files are back", async (t) => {
  let left = 2;
  const write = (path: string, text: string) => {
    if (left-- <= 0) throw new Error("ENOSPC: no space left on device, write");
    durableFiles.write(path, text);
  };
  const { restore, read, clock, turn, isOnTrial } = await openBox(t, { write });
  const former = read();
  const change = { uplinksFile: uplinksOf("new") };
  assert.match((await restore(change)).text, /ENOSPC/);
  assert.equal((await restore(change)).status, 409);
  left = Infinity;
  await clock.advance(10_000);
  assert.deepEqual(read(), former);
  assert.deepEqual([isOnTrial(), turn.held], [false, null]);
});

test("restore – two at once on a box without a name: while brokers are asked, the other may begin, and one of them is refused", async (t) => {
  const asked: (() => void)[] = [];
  const lookElsewhere = () => new Promise<null>((resolve) => asked.push(() => resolve(null)));
  const { restore, running, read, clock, outcomes, turn } = await openBox(t, {}, { lookElsewhere });
  running.replace(EMPTY_SITE);
  const instance = "0123456789ab";
  const both = ["1", "2"].map((code) =>
    restore({ instance, siteFile: withSensors(sensor(code)), uplinksFile: uplinksOf("new") }),
  );
  while (asked.length < 2) await new Promise(setImmediate);
  for (const answer of asked) answer();
  const statuses = (await Promise.all(both)).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [200, 409]);
  const [site] = read();
  for (let n = 0; n < 4; n += 1) await clock.advance(500);
  assert.deepEqual([outcomes, turn.held, read()[0]], [["applied"], null, site]);
});

test("restore – a file that a reload refused is not taken for what ran: the trial that fails goes back to that", async (t) => {
  const { restore, read, clock, uplinksPath, uplinks, reloader, outcomes } = await openBox(t);
  const former = read();
  writeFileSync(uplinksPath, "{");
  assert.equal((await reloader.reload("a person")).outcome, "refused");
  assert.equal((await restore({ uplinksFile: uplinksOf("broken") })).status, 200);
  await clock.advance(1_000);
  await reloader.settled();
  assert.deepEqual(outcomes, ["rolled_back"]);
  assert.equal(String(uplinks.current[0]?.urls), "mqtt://old");
  assert.deepEqual(read(), former);
});

test("restore – the end of a trial that was won waits for the disk: the next start must not take it back", async (t) => {
  let isBroken = true;
  const remove = (path: string) => {
    if (isBroken) throw new Error("EIO: i/o error, unlink");
    durableFiles.remove(path);
  };
  const { restore, clock, isOnTrial, outcomes, turn } = await openBox(t, { remove });
  assert.equal((await restore({ uplinksFile: uplinksOf("new") })).status, 200);
  for (let n = 0; n < 4; n += 1) await clock.advance(500);
  assert.deepEqual([outcomes, turn.held === null], [[], false]);
  isBroken = false;
  await clock.advance(10_000);
  assert.deepEqual([outcomes, isOnTrial(), turn.held], [["applied"], false, null]);
});

test("restore – of another site: a power cut between any two steps leaves both files of one of them", async (t) => {
  for (let left = 0; left <= 4; left += 1) {
    let done = 0;
    const cut = <Arguments extends unknown[]>(step: (...given: Arguments) => void) => {
      return (...given: Arguments) => {
        if (done === left) throw new Error("power cut");
        done += 1;
        step(...given);
      };
    };
    const files = { write: cut(durableFiles.write), remove: cut(durableFiles.remove) };
    const { restore, read, path, uplinksPath, dataDir } = await openBox(t, files);
    const former = read();
    const other = { site: "plant-8", siteFile: { ...withSensors(sensor("1")), site: "plant-8" } };
    await restore({ ...other, uplinksFile: uplinksOf("new") }, "?site=plant-8");
    new TrialJournal(durableFiles, dataDir).recover({ site: path, uplinks: uplinksPath }, 1);
    const found = read().map((text) => /plant-8|new/.test(text));
    assert.deepEqual(found, left < 4 ? [false, false] : [true, true], `${left} steps`);
    if (left < 4) assert.deepEqual(read(), former);
  }
});

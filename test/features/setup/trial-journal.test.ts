/** Power cuts between every two steps: what a start finds is the old configuration or the new one, whole. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { TrialJournal } from "../../../src/features/setup/trial-journal.ts";
import { sealed, type Trial } from "../../../src/features/setup/trial-records.ts";
import { type DurableFiles, durableFiles } from "../../../src/lib/durable-file.ts";
import { tempDirectory } from "../../support/temp-database.ts";

const OLD = { site: "old site", uplinks: "old uplinks" };
const NEW = { site: "new site", uplinks: "new uplinks" };
const TRIAL: Trial = {
  version: 7,
  digest: "d",
  before: OLD,
  after: NEW,
  startedAtMs: 1,
  reply: { uplink: "main", broker: "mqtt://b", responseTopic: null, correlation: null },
};

class PowerCut extends Error {}

/** The current fails before the step of this number; `write` leaves its unfinished file behind. */
function cutAt(step: number): DurableFiles {
  let steps = 0;
  const next = (path?: string) => {
    if (steps === step) {
      if (path !== undefined) writeFileSync(`${path}.new`, "half");
      throw new PowerCut();
    }
    steps += 1;
  };
  return {
    read: (path) => durableFiles.read(path),
    write(path, text) {
      next(path);
      durableFiles.write(path, text);
    },
    remove(path) {
      next();
      durableFiles.remove(path);
    },
  };
}

function setUp(t: TestContext) {
  const dataDir = tempDirectory(t);
  const paths = { site: join(dataDir, "site.json"), uplinks: join(dataDir, "uplinks.json") };
  writeFileSync(paths.site, OLD.site);
  writeFileSync(paths.uplinks, OLD.uplinks);
  const found = () => ({
    site: readFileSync(paths.site, "utf8"),
    uplinks: readFileSync(paths.uplinks, "utf8"),
  });
  return { dataDir, paths, found };
}

function takeIn(journal: TrialJournal, paths: { site: string; uplinks: string }, isWon: boolean) {
  journal.begin(TRIAL);
  journal.write(paths, NEW, OLD);
  const { version, digest, reply } = TRIAL;
  const settled = { version, digest, reply, atMs: 2, detail: "" };
  if (!isWon) journal.restore(TRIAL, paths);
  journal.end({
    ...settled,
    ...(isWon ? { outcome: "applied", reason: null } : { outcome: "rolled_back", reason: "trial" }),
  });
}

test("trial – a file created by the document is deleted when it is reverted, at once and after a power cut", (t) => {
  for (const isCut of [false, true]) {
    const { dataDir, paths } = setUp(t);
    rmSync(paths.uplinks);
    const before = { ...OLD, uplinks: null };
    const journal = new TrialJournal(durableFiles, dataDir);
    journal.begin({ ...TRIAL, before });
    journal.write(paths, NEW, before);
    if (isCut) assert.equal(journal.recover(paths, 3)?.outcome, "rolled_back");
    else assert.deepEqual(journal.restore({ ...TRIAL, before }, paths), []);
    assert.equal(existsSync(paths.uplinks), false);
    assert.equal(readFileSync(paths.site, "utf8"), OLD.site);
  }
});

for (const isWon of [true, false]) {
  test(`trial – a power cut at any step leaves one of the two versions complete (${isWon ? "won" : "lost"})`, (t) => {
    const outcomes: string[] = [];
    for (let step = 0; ; step++) {
      const { dataDir, paths, found } = setUp(t);
      let isCut = false;
      try {
        takeIn(new TrialJournal(cutAt(step), dataDir), paths, isWon);
      } catch (error) {
        if (!(error instanceof PowerCut)) throw error;
        isCut = true;
      }
      // The start after it may be cut, too, and begins again.
      for (let again = 0; again < 6; again++) {
        try {
          new TrialJournal(cutAt(again), dataDir).recover(paths, 3);
        } catch (error) {
          if (!(error instanceof PowerCut)) throw error;
        }
      }
      const journal = new TrialJournal(durableFiles, dataDir);
      journal.recover(paths, 3);
      assert.equal(journal.trial, null);
      const whole = JSON.stringify(found());
      assert.ok([JSON.stringify(OLD), JSON.stringify(NEW)].includes(whole), `${step}: ${whole}`);
      const isNew = whole === JSON.stringify(NEW);
      // The report matches the outcome.
      const { accepted } = journal;
      assert.equal(accepted?.outcome === "applied", isNew, `${step}`);
      outcomes.push(isNew ? "new" : "old");
      if (!isCut) break;
    }
    assert.equal(outcomes.at(-1), isWon ? "new" : "old");
    assert.ok(outcomes.length >= 5, "every step was cut");
  });
}

test("trial – a file that somebody changed in the meantime is neither version, and stays", (t) => {
  const { dataDir, paths, found } = setUp(t);
  const journal = new TrialJournal(durableFiles, dataDir);
  journal.begin(TRIAL);
  journal.write(paths, NEW, OLD);
  writeFileSync(paths.site, "a person's");
  const recovered = journal.recover(paths, 3);
  assert.deepEqual(found(), { site: "a person's", uplinks: OLD.uplinks });
  assert.deepEqual([recovered?.outcome, recovered?.reason], ["superseded", "changed_here"]);
  assert.match(recovered?.detail ?? "", /site\.json was changed since then and is kept/);
});

test("trial – a damaged journal does not keep the agent from starting", (t) => {
  const { dataDir, paths, found } = setUp(t);
  const journal = new TrialJournal(durableFiles, dataDir);
  journal.begin(TRIAL);
  writeFileSync(join(dataDir, "configuration", "trial.json"), "{half");
  assert.equal(journal.recover(paths, 3), null);
  assert.deepEqual(found(), OLD);
});

test("trial journal – whatever bit of it the disk lost, a start goes on with both files of one version", () => {
  const disk = new Map<string, string>();
  const files: DurableFiles = {
    read: (path) => disk.get(path) ?? null,
    write: (path, text) => void disk.set(path, text),
    remove: (path) => void disk.delete(path),
  };
  const paths = { site: "site.json", uplinks: "uplinks.json" };
  const path = "/configuration/trial.json";
  const journal = new TrialJournal(files, "/");
  const written = Buffer.from(sealed(TRIAL));
  const damaged = ["{}", "[]", "7", '{"before":{}}'].map((text) => Buffer.from(text));
  for (let at = 0; at < written.length; at += 1)
    for (let bit = 1; bit < 256; bit *= 2) {
      const bytes = Buffer.from(written);
      bytes[at] = (bytes[at] ?? 0) ^ bit;
      damaged.push(bytes);
    }
  for (const bytes of damaged) {
    disk.clear();
    disk.set(paths.site, NEW.site).set(paths.uplinks, NEW.uplinks).set(path, bytes.toString());
    const recovered = journal.recover(paths, 3);
    const found = { site: disk.get(paths.site), uplinks: disk.get(paths.uplinks) };
    // A bit of the digest's own name leaves a record as earlier releases wrote it.
    assert.deepEqual(found, recovered === null ? NEW : OLD);
    if (recovered !== null) assert.deepEqual(recovered.reply, TRIAL.reply);
    assert.equal(disk.has(path), false);
  }
});

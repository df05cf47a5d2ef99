/** Power cuts between every two steps of a save: what a start finds is the old file or the new one, whole, and no kept version is lost. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { NO_CHANGES } from "../../../src/core/configuration/configuration.ts";
import { ChangeTurn } from "../../../src/features/setup/change-turn.ts";
import type { EditedPart } from "../../../src/features/setup/edited-part.ts";
import { FileEditor } from "../../../src/features/setup/file-editor.ts";
import { FileVersions } from "../../../src/features/setup/file-versions.ts";
import { type DurableFiles, durableFiles } from "../../../src/lib/durable-file.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { tempDirectory } from "../../support/temp-database.ts";

/** The current fails before the step of this number, with a half-written file beside; nothing is written after it. */
function cutAt(step: number): { readonly files: DurableFiles; readonly isCut: () => boolean } {
  let steps = 0;
  const next = (path: string) => {
    if (steps >= step) {
      if (steps === step) writeFileSync(`${path}.new`, '{"half":');
      steps = step + 1;
      throw new Error("the current failed");
    }
    steps += 1;
  };
  return {
    isCut: () => steps > step,
    files: {
      read: (path) => durableFiles.read(path),
      write(path, text) {
        next(path);
        durableFiles.write(path, text);
      },
      remove(path) {
        next(path);
        durableFiles.remove(path);
      },
    },
  };
}

function editorOf(
  path: string,
  dataDir: string,
  files: DurableFiles,
  text: () => string | null = () => durableFiles.read(path),
): FileEditor {
  const part: EditedPart = {
    setting: "SITE_FILE",
    path,
    text,
    shown: (text) => ({ text, content: text }),
    written: (content) => ({ text: String(content) }),
    check: () => ({ faults: [], warnings: [], changes: [] }),
    safe: (faults) => faults,
  };
  const report = {
    outcome: "applied",
    configuration: "",
    changes: NO_CHANGES,
    faults: [],
    warnings: [],
    pendingRestart: [],
    renewedByRestart: [],
  } as const;
  return new FileEditor(
    {
      files,
      reloader: { reload: () => Promise.resolve(report) },
      versions: new FileVersions(files, dataDir, "site"),
      turn: new ChangeTurn(),
      clock: { now: () => 1 },
      logger: silentLogger,
    },
    part,
  );
}

test("file editor – a power cut at any step of a save leaves the old or the new file complete, and every version readable", async (t) => {
  let cuts = 0;
  for (let step = 0; ; step++) {
    const dataDir = tempDirectory(t);
    const path = join(dataDir, "site.json");
    writeFileSync(path, "0");
    // Ten are kept already, so that the save also removes one.
    const before = editorOf(path, dataDir, durableFiles);
    for (let i = 1; i <= 12; i++) await before.save(String(i), before.read().hash, "somebody");
    const { files, isCut } = cutAt(step);
    const cut = editorOf(path, dataDir, files);
    await cut.save("new", cut.read().hash, "somebody");
    const found = readFileSync(path, "utf8");
    const after = editorOf(path, dataDir, durableFiles);
    const texts = after.versions().map(({ version }) => after.version(version)?.text);
    if (!isCut()) {
      assert.deepEqual([found, texts[0]], ["new", "12"]);
      break;
    }
    cuts += 1;
    assert.ok(found === "12" || found === "new", `step ${step}: ${found}`);
    if (found === "new") assert.ok(texts.includes("12"), "what was replaced is kept");
    for (const old of ["11", "10", "4", "3"])
      assert.ok(texts.includes(old), `step ${step}: ${old}`);
    const saved = await after.save("next", after.read().hash, "somebody");
    assert.equal(saved.outcome, "saved", `step ${step}`);
    assert.ok(after.versions().length <= 10);
  }
  assert.equal(cuts, 3, "the version, the oldest one, the file");
});

test("file editor – of two concurrent saves, one must try again, and nothing is mixed", async (t) => {
  const dataDir = tempDirectory(t);
  const path = join(dataDir, "site.json");
  writeFileSync(path, "0");
  const editor = editorOf(path, dataDir, durableFiles);
  const { hash } = editor.read();
  const first = editor.save("a", hash, "one");
  // The first is written, and waits to be in effect.
  const second = await editor.save("b", editor.read().hash, "two");
  assert.equal(second.outcome, "busy");
  assert.equal((await first).outcome, "saved");
  assert.equal(readFileSync(path, "utf8"), "a");
});

test("file editor – a file that exists but cannot be read is not replaced", async (t) => {
  const dataDir = tempDirectory(t);
  const path = join(dataDir, "site.json");
  writeFileSync(path, "somebody's");
  const editor = editorOf(path, dataDir, durableFiles, () => null);
  const outcome = await editor.save("new", editor.read().hash, "one");
  assert.equal(outcome.outcome, "not_writable");
  assert.equal(readFileSync(path, "utf8"), "somebody's");
});

import assert from "node:assert/strict";
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { asOwnerOf } from "../../src/lib/as-owner.ts";

/** Nobody stands for the service's user. */
const SERVICE = 65_534;
const skip = process.getuid?.() === 0 ? false : "needs root";

test("as owner – what root makes below another user's directory is that user's, also where its own directory is missing", {
  skip,
}, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-owner-"));
  t.after(() => rmSync(directory, { recursive: true }));
  chownSync(directory, SERVICE, SERVICE);
  const instance = join(directory, "box8", "store");
  await asOwnerOf(instance, () => mkdirSync(instance, { recursive: true }));
  for (const path of [instance, join(directory, "box8")]) assert.equal(statSync(path).uid, SERVICE);
  assert.equal(process.geteuid?.(), 0);
});

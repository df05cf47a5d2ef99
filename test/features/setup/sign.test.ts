import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCommand } from "../../support/run-command.ts";

/** What a signer of `site` sees. */
async function sign(t: TestContext, site: object, ...flags: readonly string[]) {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-sign-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  // With the mark that Windows editors put in front, as `check` takes it.
  writeFileSync(join(cwd, "site.json"), `\ufeff${JSON.stringify(site)}`);
  await runCommand(["sign", "--new-key", "fleet"], { cwd });
  const command = ["sign", "--key", "fleet.key.pem", "--site-file", "site.json", ...flags];
  return runCommand(command, { cwd });
}

const siteWithClamp = (clamp: number) => ({
  site: "plant-7",
  sensors: [{ code: "20871", type: 9, kinds: ["currentV2"], channels: { current1: { clamp } } }],
});

test("sign – warns of each fault for which boxes of this version refuse the site file, and signs it all the same", async (t) => {
  const { code, stdout, stderr } = await sign(t, siteWithClamp(80));
  assert.equal(code, 0);
  assert.match(
    stderr,
    /^warning: boxes of this version refuse it: site\.json: sensors\[0\]\.channels\.current1\.clamp: .*80.*\n$/,
  );
  const { payload } = JSON.parse(stdout) as { payload: string };
  assert.match(Buffer.from(payload, "base64").toString(), /"clamp":80/);
});

test("sign – says nothing of a site file without faults", async (t) => {
  const { code, stderr } = await sign(t, siteWithClamp(100));
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});

test("sign – warns of a file that is no uplinks file, and of a site file for another site", async (t) => {
  const flags = ["--uplinks-file", "site.json", "--site", "plant-8"];
  const { code, stderr } = await sign(t, siteWithClamp(100), ...flags);
  assert.equal(code, 0);
  assert.match(stderr, /^warning: .*site\.json: uplinks: is missing/m);
  assert.match(stderr, /^warning: .*site\.json: site: is "plant-7", but .* "plant-8"; /m);
});

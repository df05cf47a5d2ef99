import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readRemedy } from "../../src/lib/file-trouble.ts";

const failure = (code: string) => Object.assign(new Error(code), { code });

test("file trouble – what the service's user may not read is given to its group; others are told to use the agent's user", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-trouble-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "site.json");
  assert.equal(
    readRemedy(failure("EACCES"), path, "write one", "gateside"),
    `run \`chown root:gateside ${path} && chmod 640 ${path}\` as root: the service's user must be able to read it`,
  );
  assert.match(readRemedy(failure("EACCES"), path, "write one", "anna"), /^let this user read it/);
  assert.match(readRemedy(failure("EPERM"), path, "write one", null), /^let this user read it/);
  assert.equal(readRemedy(failure("ENOENT"), path, "write one", "gateside"), "write one");
});

test("file trouble – permissions of a file do not help in a directory that the service's user may not enter", () => {
  // Nobody may enter what does not exist.
  assert.equal(
    readRemedy(failure("EACCES"), "/nonexistent/below/site.json", "", "gateside"),
    "move it to /etc/gateside: the service's user may not enter /nonexistent",
  );
});

/** The documents as a package lays them out, and what it says where a compiler is missing. */
import assert from "node:assert/strict";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { PACKAGED_LINKS, packagedDocuments } from "../../scripts/package-documents.ts";
import { missingTools } from "../../scripts/package-parts.ts";
import { tempDirectory } from "../support/temp-database.ts";

test("package – every relative link of the installed documents has a target there", () => {
  const files = packagedDocuments(".");
  const installed = new Set<string>();
  for (const { to } of files)
    for (let path = to; path !== "."; path = dirname(path)) installed.add(path);
  for (const { at, target } of PACKAGED_LINKS)
    for (const path of installed) {
      const below = `${normalize(join(dirname(at), target))}/`;
      if (path.startsWith(below)) installed.add(join(at, path.slice(below.length)));
    }
  let links = 0;
  for (const { from, to } of files) {
    if (!from.endsWith(".md")) continue;
    const text = readFileSync(from, "utf8").replace(/^ *```[\s\S]*?^ *```/gm, "");
    for (const [link, target = ""] of text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      links += 1;
      const path = normalize(join(dirname(to), target)).replace(/\/$/, "");
      assert.ok(installed.has(path), `${to}: ${link}`);
    }
  }
  assert.ok(links > 50, `${links} links`);
  assert.ok(installed.has("usr/share/doc/gateside/deploy/sql/roles.sql"));
});

test("package – an architecture without its compiler is named in one line, with what to install", (t) => {
  const folder = tempDirectory(t);
  for (const tool of ["gcc", "g++", "ar", "strip"]) {
    writeFileSync(join(folder, `x86_64-linux-gnu-${tool}`), "");
    chmodSync(join(folder, `x86_64-linux-gnu-${tool}`), 0o755);
  }
  writeFileSync(join(folder, "dpkg-deb"), "");
  assert.equal(missingTools("amd64", `/nowhere:${folder}`), null);
  assert.equal(
    missingTools("arm64", folder),
    "it needs aarch64-linux-gnu-gcc, aarch64-linux-gnu-g++, aarch64-linux-gnu-ar, aarch64-linux-gnu-strip: apt-get install g++-aarch64-linux-gnu",
  );
});

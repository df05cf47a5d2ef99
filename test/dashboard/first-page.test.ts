/** What a browser loads before the first page can be used, by the built files. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { skipWithoutBuild } from "../support/plant.ts";

const DIRECTORY = join("dist", "dashboard");
/** The page, its icon, two styles, the start, and everything else in one. */
const FILES_MAX = 6;
const BYTES_MAX = 60_000;

/** The page and all that it and its scripts import before anything is opened. */
function loadedFirst(): string[] {
  const found = ["index.html"];
  for (const name of found) {
    const text = readFileSync(join(DIRECTORY, name), "utf8");
    const names = name.endsWith(".html")
      ? [...text.matchAll(/<(?:script|link)[^>]* (?:src|href)="([^"]+)"/g)]
      : [...text.matchAll(/(?:\bfrom|\bimport)\s*"\.\/([^"]+)"/g)];
    for (const [, one = ""] of names) if (!found.includes(one)) found.push(one);
  }
  return found;
}

test("dashboard – the first page comes in few files", { skip: skipWithoutBuild }, () => {
  const names = loadedFirst();
  const sizes = names.map((name) => {
    const file = join(DIRECTORY, name);
    return readFileSync(existsSync(`${file}.br`) ? `${file}.br` : file).length;
  });
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(names.length <= FILES_MAX, names.join(", "));
  assert.ok(bytes > BYTES_MAX / 2 && bytes <= BYTES_MAX, `${bytes} bytes`);
});

import assert from "node:assert/strict";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import {
  buildSdNotify,
  skipWithoutNatives as skip,
  temporaryDirectory,
} from "../support/notify-socket.ts";

interface NativeText {
  map(file: number, size: number, head: string, tail: string): string | undefined;
  trim(): void;
}

const HEAD = "(function(){//";
const TAIL = "\n})";
const PAGE_BYTES = 4_096;

test("mapped text – a file of any length is between head and tail, also after trimming", {
  skip,
}, (t) => {
  const directory = temporaryDirectory(t);
  const native = buildSdNotify(join(directory, "sdnotify.node"));
  const { map, trim } = createRequire(native)(native) as NativeText;
  const path = join(directory, "text");
  const mapped = (content: string) => {
    writeFileSync(path, content, "latin1");
    const file = openSync(path, "r");
    try {
      return map(file, content.length, HEAD, TAIL);
    } finally {
      closeSync(file);
    }
  };
  const lengths = [1, 2, 3].flatMap((pages) =>
    [-TAIL.length - 1, -TAIL.length, -1, 0, 1].map((more) => pages * PAGE_BYTES + more),
  );
  for (const length of [1, ...lengths]) {
    const content = Array.from({ length }, (_, n) => String.fromCharCode(32 + (n % 90))).join("");
    const text = mapped(content);
    trim();
    assert.equal(text, HEAD + content + TAIL, `${length} bytes`);
  }
  assert.equal(mapped(""), undefined);
});

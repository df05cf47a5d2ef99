/**
 * V8's code cache for the bundle: bytecode of the functions that a start and a first read use, so that they need not be
 * parsed and compiled again. A cache is code. It is used only if it is as well protected as the program itself; see
 * docs/operations.md.
 */
import {
  chmodSync,
  closeSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { debuglog } from "node:util";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

const WRAPPER_HEAD = Buffer.from("(function(exports,require,module,__filename,__dirname){//");
const WRAPPER_TAIL = Buffer.from("\n})");
/** Longest first line of a cache file, bytes. */
const TITLE_BYTES_MAX = 200;

type Wrapped = (
  exports: object,
  require: NodeJS.Require,
  module: object,
  filename: string,
  dirname: string,
) => void;

interface Source {
  /** The program as the body of a function, its first line (`#!…`) as a comment, so that line numbers stay. */
  readonly text: Buffer;
  /** First line of a cache file that fits this program and this runtime. */
  title(data: Uint8Array): string;
  /** Owner of the file. */
  readonly uid: number;
}

/**
 * Runs the bundle at `program`, with the cache in `cacheFile` if that is valid; otherwise without it, more slowly.
 * NODE_DEBUG=gateside says which.
 */
export function runWithCache(program: string, cacheFile: string): void {
  const source = readSource(program);
  const cachedData = readCache(cacheFile, source);
  const script = compile(program, source, cachedData);
  const isUsed = cachedData !== undefined && script.cachedDataRejected === false;
  debuglog("gateside")(isUsed ? "code cache used" : "no code cache used");
  execute(program, script);
}

/**
 * Runs the bundle without a cache and, if the process ends with exit code 0, writes what was compiled meanwhile to
 * `cacheFile`. Otherwise no file remains there.
 */
export function runAndCache(program: string, cacheFile: string): void {
  rmSync(cacheFile, { force: true });
  // Otherwise the code of functions that ran once, at the start, would be gone by the end.
  setFlagsFromString("--no-flush-bytecode");
  const source = readSource(program);
  const script = compile(program, source, undefined);
  process.once("exit", (code) => {
    if (code !== 0) return;
    // V8 accepts a cache only under the flags it was made with.
    setFlagsFromString("--flush-bytecode");
    const data = script.createCachedData();
    const part = `${cacheFile}.part`;
    writeFileSync(part, Buffer.concat([Buffer.from(source.title(data)), data]));
    // Whatever root's umask is: the service must be able to read it, and nobody else to write it.
    chmodSync(part, 0o644);
    renameSync(part, cacheFile);
  });
  execute(program, script);
}

function readSource(program: string): Source {
  const file = openSync(program, "r");
  try {
    const { size, uid } = fstatSync(file);
    const text = Buffer.allocUnsafeSlow(WRAPPER_HEAD.length + size + WRAPPER_TAIL.length);
    WRAPPER_HEAD.copy(text);
    const body = text.subarray(WRAPPER_HEAD.length, WRAPPER_HEAD.length + size);
    for (let at = 0; at < size; ) {
      const count = readSync(file, body, at, size - at, at);
      if (count === 0) throw new Error(`${program} became shorter while it was read`);
      at += count;
    }
    WRAPPER_TAIL.copy(text, WRAPPER_HEAD.length + size);
    const { version, arch } = process;
    const title = (data: Uint8Array) =>
      `gateside code cache 1, node ${version} ${arch}, program ${crc32(text)}, data ${crc32(data)}\n`;
    return { text, title, uid };
  } finally {
    closeSync(file);
  }
}

/** V8 checks its version, its flags and the length of the source, but no contents: a damaged file would end the process. */
function readCache(path: string, source: Source): Buffer | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return undefined;
  }
  try {
    const { size, uid, mode } = fstatSync(file);
    // Anyone who can write the cache can change the running code.
    if (uid !== source.uid || (mode & 0o022) !== 0) return undefined;
    const content = Buffer.allocUnsafeSlow(size);
    if (readSync(file, content, 0, size, 0) !== size) return undefined;
    const end = content.subarray(0, TITLE_BYTES_MAX).indexOf("\n") + 1;
    const data = content.subarray(end);
    return content.toString("latin1", 0, end) === source.title(data) ? data : undefined;
  } catch {
    // A damaged card must not keep the program from running: it needs no cache.
    return undefined;
  } finally {
    closeSync(file);
  }
}

function compile(program: string, { text }: Source, cachedData: Buffer | undefined): Script {
  return new Script(text.toString("latin1"), {
    filename: program,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
}

function execute(program: string, script: Script): void {
  const module = { exports: {} };
  const wrapped = script.runInThisContext() as Wrapped;
  wrapped(module.exports, createRequire(program), module, program, dirname(program));
}

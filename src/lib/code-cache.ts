/**
 * V8's code cache for the bundle: bytecode of the functions that a start and a first read use, so that they need not be
 * parsed and compiled again. A cache is code. It is used only if it is as well protected as the program itself; see
 * docs/operations.md.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { debuglog } from "node:util";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

const WRAPPER_HEAD = "(function(exports,require,module,__filename,__dirname){//";
const WRAPPER_TAIL = "\n})";
const WRAPPER_BYTES = WRAPPER_HEAD.length + WRAPPER_TAIL.length;
const PIECE_BYTES = 65_536;
/** Longest first line of a cache file, bytes. */
const TITLE_BYTES_MAX = 200;

type Wrapped = (
  exports: object,
  require: NodeJS.Require,
  module: object,
  filename: string,
  dirname: string,
) => void;

/** Only packages contain it; a module of an earlier version lacks some of it. */
interface NativeModule {
  map?(file: number, size: number, head: string, tail: string): string | undefined;
  trim?(): void;
}

interface CachedSource {
  /** The program as the body of a function, its first line (`#!…`) as a comment, so that line numbers stay. */
  readonly text: string;
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
  // What only the runtime's own start and the reading of the program needed.
  nativeModule(program)?.trim?.();
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
    // For any umask of root: the service must be able to read it, and nobody else to write it.
    chmodSync(part, 0o644);
    renameSync(part, cacheFile);
  });
  execute(program, script);
}

function readSource(program: string): CachedSource {
  const file = openSync(program, "r");
  try {
    const { size, uid } = fstatSync(file);
    const mapped = mapSource(program, file, size);
    const whole = Buffer.allocUnsafeSlow(mapped === undefined ? WRAPPER_BYTES + size : PIECE_BYTES);
    let sum = 0;
    let at = 0;
    while (at < size) {
      const room = mapped === undefined ? whole.subarray(WRAPPER_HEAD.length + at) : whole;
      const count = readSync(file, room, 0, Math.min(room.length, size - at), at);
      if (count === 0) throw new Error(`${program} became shorter while it was read`);
      sum = crc32(room.subarray(0, count), sum);
      at += count;
    }
    const { version, arch } = process;
    const title = (data: Uint8Array) =>
      `gateside code cache 2, node ${version} ${arch}, program ${sum}, data ${crc32(data)}\n`;
    if (mapped !== undefined) return { text: mapped, title, uid };
    whole.write(WRAPPER_HEAD, 0, "latin1");
    whole.write(WRAPPER_TAIL, WRAPPER_HEAD.length + size, "latin1");
    return { text: whole.toString("latin1"), title, uid };
  } finally {
    closeSync(file);
  }
}

/**
 * The source in the kernel's cache of the file, for V8 keeps it for later: 4 MB that are not the process's own. Packages replace the file and never
 * write into it. Undefined without the native module, which only packages contain.
 */
function mapSource(program: string, file: number, size: number): string | undefined {
  return nativeModule(program)?.map?.(file, size, WRAPPER_HEAD, WRAPPER_TAIL);
}

function nativeModule(program: string): NativeModule | null {
  const path = join(dirname(program), "sdnotify.node");
  try {
    return existsSync(path) ? createRequire(program)(path) : null;
  } catch {
    // A module for another machine: everything works without it.
    return null;
  }
}

/** V8 checks its version, its flags and the length of the source, but no contents: a damaged file would end the process. */
function readCache(path: string, source: CachedSource): Buffer | undefined {
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

function compile(program: string, { text }: CachedSource, cachedData: Buffer | undefined): Script {
  return new Script(text, {
    filename: program,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
}

function execute(program: string, script: Script): void {
  const module = { exports: {} };
  const wrapped: Wrapped = script.runInThisContext();
  wrapped(module.exports, createRequire(program), module, program, dirname(program));
}

/** Node's modules as a process of the virtual world sees them: those that know of time, chance, the network or the machine are replaced. */
import childProcess from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import perfHooks from "node:perf_hooks";
import { Transform, type TransformCallback } from "node:stream";
import zlib from "node:zlib";
import type { VirtualProcess } from "./virtual-process.ts";
import type { VirtualSocket } from "./virtual-socket.ts";

type Modules = Record<string, Record<string, unknown>>;

/** Names without `node:`. */
export function modulesOf(owner: VirtualProcess, timers: Modules): Modules {
  const process = processOf(owner);
  return {
    ...timers,
    process,
    perf_hooks: {
      ...perfHooks,
      performance: { now: owner.monotonic, timeOrigin: owner.now(), mark() {}, measure() {} },
      monitorEventLoopDelay: () => IDLE_HISTOGRAM,
    },
    crypto: { ...crypto, ...randomnessOf(owner) },
    os: {
      ...os,
      hostname: () => owner.name,
      loadavg: () => [0, 0, 0],
      freemem: () => 2 ** 30,
      totalmem: () => 2 ** 31,
    },
    fs: { ...fs, statfsSync: () => owner.disk.statfs(), ...writesOf(owner) },
    "better-sqlite3": owner.disk.sqlite as unknown as Record<string, unknown>,
    net: {
      ...net,
      connect: connectOf(owner),
      createConnection: connectOf(owner),
      createServer: serverOf(owner, net),
    },
    http: { ...http, createServer: serverOf(owner, http) },
    zlib: { ...zlib, ...SYNCHRONOUS_ZLIB },
    child_process: { ...childProcess, ...FORBIDDEN_PROCESSES },
  };
}

/** A process may die at a file; what catches that may write nothing more. */
function writesOf(owner: VirtualProcess): Record<string, unknown> {
  const alive =
    <A extends unknown[], R>(write: (...args: A) => R) =>
    (...args: A): R => {
      owner.refuseIfDead();
      return write(...args);
    };
  return {
    openSync: alive(fs.openSync),
    rmSync: alive(fs.rmSync),
    writeFileSync: alive(fs.writeFileSync),
    renameSync: alive((from: fs.PathLike, to: fs.PathLike) => {
      owner.disk.hooks.beforeRename?.();
      fs.renameSync(from, to);
      owner.disk.hooks.afterRename?.();
    }),
  };
}

const IDLE_HISTOGRAM = {
  enable() {},
  disable() {},
  reset() {},
  count: 0,
  percentile: () => 0,
  min: 0,
  max: 0,
  mean: 0,
};

const forbidden = () => {
  throw new Error("no process can be started in virtual time");
};
const FORBIDDEN_PROCESSES = {
  execFile: forbidden,
  spawn: forbidden,
  fork: forbidden,
  exec: forbidden,
};

function processOf(owner: VirtualProcess): Record<string, unknown> {
  const elapsedNs = () => BigInt(Math.round(owner.world.nowMs * 1e6));
  const hrtime = () => [
    Math.floor(owner.world.nowMs / 1000),
    Math.round((owner.world.nowMs % 1000) * 1e6),
  ];
  const memory = () => ({
    rss: 8e7,
    heapTotal: 4e7,
    heapUsed: 3e7,
    external: 1e6,
    arrayBuffers: 1e6,
  });
  const own = {
    pid: 1000,
    env: {},
    hrtime: Object.assign(hrtime, { bigint: elapsedNs }),
    uptime: () => owner.monotonic() / 1000,
    memoryUsage: Object.assign(memory, { rss: () => memory().rss }),
    cpuUsage: () => ({ user: 0, system: 0 }),
    resourceUsage: () => ({ maxRSS: 80_000, userCPUTime: 0, systemCPUTime: 0 }),
    nextTick: process.nextTick.bind(process),
    on: () => process,
    once: () => process,
    off: () => process,
    emitWarning() {},
    exit(code: number) {
      throw new Error(`${owner.name} called process.exit(${code})`);
    },
  };
  return Object.create(process, Object.getOwnPropertyDescriptors(own)) as Record<string, unknown>;
}

function randomnessOf({ random }: VirtualProcess): Record<string, unknown> {
  const randomBytes = (size: number, done?: (error: null, bytes: Buffer) => void) => {
    const bytes = Buffer.from(Array.from({ length: size }, () => random.between(0, 256)));
    return done === undefined ? bytes : done(null, bytes);
  };
  const fill = (bytes: Uint8Array) => {
    bytes.set(randomBytes(bytes.length) as Buffer);
    return bytes;
  };
  return {
    randomBytes,
    randomFillSync: fill,
    randomInt: (a: number, b?: number) =>
      b === undefined ? random.between(0, a) : random.between(a, b),
    randomUUID: () =>
      (randomBytes(16) as Buffer)
        .toString("hex")
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
    webcrypto: { ...crypto.webcrypto, getRandomValues: fill },
  };
}

/** The address of a call of `connect` or `listen`: a port or a path. */
function addressOf(args: readonly unknown[]): string {
  const [first] = args;
  if (typeof first !== "object" || first === null) return String(first);
  const { port, path } = first as { port?: number; path?: string };
  return String(path ?? port);
}

function connectOf(owner: VirtualProcess) {
  return (...args: unknown[]): VirtualSocket => {
    const [options] = args as [{ onread?: ConstructorParameters<typeof VirtualSocket>[4] }];
    const socket = owner.network.connect(owner, addressOf(args), options?.onread ?? null);
    const listener = args.at(-1);
    if (typeof listener === "function") socket.once("connect", listener as () => void);
    return socket;
  };
}

/** A real server object whose listening socket is the network's. */
function serverOf(
  owner: VirtualProcess,
  { createServer }: { createServer: (...args: never[]) => net.Server },
) {
  return (...args: unknown[]): net.Server => {
    const options = typeof args[0] === "object" ? args[0] : {};
    const handler = args.findLast((argument) => typeof argument === "function");
    // Node's own checks of idle connections use real time.
    const server = createServer(
      ...([{ ...options, connectionsCheckingInterval: 2 ** 30 }, handler] as never[]),
    );
    return withVirtualSocket(owner, server);
  };
}

function withVirtualSocket(owner: VirtualProcess, server: net.Server): net.Server {
  const { network, world } = owner;
  const open = new Set<VirtualSocket>();
  let address: string | null = null;
  const endIfClosed = () => {
    if (address === null && open.size === 0) owner.enter(() => server.emit("close"));
  };
  const { allowHalfOpen = false } = server as { allowHalfOpen?: boolean };
  const own = {
    listen(...args: unknown[]) {
      const wanted = addressOf(args);
      const at = wanted === "0" ? String(network.freePort()) : wanted;
      const done = args.findLast((argument) => typeof argument === "function") as
        | (() => void)
        | undefined;
      if (done) server.once("listening", done);
      world.immediate(() => {
        try {
          network.listen(at, {
            host: owner,
            allowHalfOpen,
            accept(socket) {
              open.add(socket);
              socket.once("close", () => {
                open.delete(socket);
                endIfClosed();
              });
              server.emit("connection", Object.assign(socket, { server }));
            },
          });
          address = at;
          // A socket in the file system has a file there.
          if (at.startsWith("/")) fs.writeFileSync(at, "");
          owner.enter(() => server.emit("listening"));
        } catch (error) {
          owner.enter(() => server.emit("error", error));
        }
      });
      return server;
    },
    close(done?: (error?: Error) => void) {
      if (address === null) {
        done?.(
          Object.assign(new Error("Server is not running."), { code: "ERR_SERVER_NOT_RUNNING" }),
        );
        return server;
      }
      if (done) server.once("close", done);
      network.close(address);
      if (address.startsWith("/")) fs.rmSync(address, { force: true });
      address = null;
      (server as http.Server).closeIdleConnections?.();
      world.immediate(endIfClosed);
      return server;
    },
    address: () =>
      address === null ? null : { address: "127.0.0.1", family: "IPv4", port: Number(address) },
    ref: () => server,
    unref: () => server,
  };
  Object.assign(server, own);
  return Object.defineProperty(server, "listening", { get: () => address !== null });
}

/** Compresses or decompresses everything at once at its end, where Node would use a thread. */
function atTheEnd(convert: (bytes: Buffer) => Buffer): () => Transform {
  return () => {
    const chunks: Buffer[] = [];
    return new Transform({
      transform(chunk: Buffer, _encoding, done: TransformCallback) {
        chunks.push(Buffer.from(chunk));
        done();
      },
      flush(done) {
        try {
          done(null, convert(Buffer.concat(chunks)));
        } catch (error) {
          done(error as Error);
        }
      },
    });
  };
}

const SYNCHRONOUS_ZLIB = {
  createGzip: atTheEnd((bytes) => zlib.gzipSync(bytes)),
  createGunzip: atTheEnd((bytes) => zlib.gunzipSync(bytes)),
  createInflate: atTheEnd((bytes) => zlib.inflateSync(bytes)),
  createBrotliDecompress: atTheEnd((bytes) => zlib.brotliDecompressSync(bytes)),
};

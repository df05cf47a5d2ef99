/** A connection within this process, in virtual time. */
import { Duplex } from "node:stream";
import { mix } from "../../src/simulator/random.ts";
import type { Enter } from "./virtual-timers.ts";
import type { World } from "./world.ts";

/** Unread bytes at which the sender has to wait. */
const WINDOW_BYTES = 65_536;
export interface OnRead {
  readonly buffer: Uint8Array | (() => Uint8Array);
  readonly callback: (bytes: number, buffer: Uint8Array) => boolean;
}

/** Whose code runs when something arrives. */
export interface Host {
  readonly enter: Enter;
  readonly sockets: Set<VirtualSocket>;
  readonly isAlive: boolean;
}

/** One server address as others reach it. */
export interface Path {
  state: "open" | "shut" | "silent";
  /** What waits until the path is no longer silent. */
  readonly held: (() => void)[];
  readonly sockets: Set<VirtualSocket>;
  extraMs: number;
}

/** 0.2 to 5 ms. */
export const delayOf = (seed: number, position: number) =>
  0.2 + (mix(seed, position) % 4800) / 1000;

/** One end of a connection, with what Node's `net.Socket` offers to its users here. */
export class VirtualSocket extends Duplex {
  connecting = true;
  bytesRead = 0;
  bytesWritten = 0;
  timeout = 0;
  readonly remoteAddress = "127.0.0.1";
  readonly remoteFamily = "IPv4";
  readonly remotePort = 40_000;
  readonly localAddress = "127.0.0.1";
  readonly localPort = 40_001;
  readonly encrypted = false;
  readonly #world: World;
  readonly #host: Host;
  readonly #path: Path;
  readonly #seed: number;
  readonly #onread: OnRead | null;
  #peer: VirtualSocket | null = null;
  /** Called once connected. */
  #waiting: (() => void)[] = [];
  #arrivesMs = 0;
  /** Arrived and not taken by the reader; null is the end. */
  #arrived: (Buffer | null)[] = [];
  #unreadBytes = 0;
  #isReading = true;
  /** The sender's, while this end has too much unread. */
  #blocked: (() => void)[] = [];
  #hasEnded = false;
  #idle: { close(): unknown } | null = null;
  #idleNumber = 0;

  constructor(
    world: World,
    host: Host,
    path: Path,
    seed: number,
    onread: OnRead | null,
    allowHalfOpen: boolean,
  ) {
    super({ allowHalfOpen, autoDestroy: true, emitClose: true });
    this.#world = world;
    this.#host = host;
    this.#path = path;
    this.#seed = seed;
    this.#onread = onread;
    host.sockets.add(this);
    path.sockets.add(this);
  }

  joinTo(peer: VirtualSocket): void {
    this.#peer = peer;
    this.connecting = false;
  }
  open(): void {
    for (const act of this.#waiting.splice(0)) act();
    this.emit("connect");
    this.emit("ready");
  }
  fail(code: string): void {
    if (this.destroyed) return;
    const error = Object.assign(new Error(`connect ${code} 127.0.0.1`), {
      code,
      syscall: "connect",
    });
    this.#host.enter(() => this.destroy(error));
  }
  /** Both ends see a reset. */
  breakOff(): void {
    this.resetByPeer();
    this.#peer?.resetByPeer();
  }
  /** The process died: the kernel closes its connections. */
  abandon(): void {
    this.#unregister();
    const peer = this.#peer;
    if (peer !== null) this.#world.after(delayOf(this.#seed, 1), () => peer.resetByPeer());
    this.#peer = null;
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.connecting) return void this.#waiting.push(() => this._write(chunk, _encoding, done));
    this.bytesWritten += chunk.length;
    this.#touch();
    const peer = this.#peer;
    // A copy: the writer may use its memory again.
    this.#send(Buffer.from(chunk));
    if (peer === null || peer.#unreadBytes < WINDOW_BYTES) done();
    else peer.#blocked.push(done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.connecting) return void this.#waiting.push(() => this._final(done));
    this.#hasEnded = true;
    this.#send(null);
    done();
  }

  #send(bytes: Buffer | null): void {
    const world = this.#world;
    const peer = this.#peer;
    if (peer === null) return;
    peer.#unreadBytes += bytes?.length ?? 0;
    const dueMs = world.nowMs + delayOf(this.#seed, this.bytesWritten) + this.#path.extraMs;
    this.#arrivesMs = Math.max(this.#arrivesMs, dueMs);
    const arrive = () => {
      if (this.#path.state === "silent") this.#path.held.push(arrive);
      else peer.#arrive(bytes);
    };
    world.at(this.#arrivesMs, arrive);
  }

  #arrive(bytes: Buffer | null): void {
    if (this.destroyed) {
      // Data for a closed connection is answered with a reset.
      if (bytes !== null) this.#peer?.resetByPeer();
      return;
    }
    this.#touch();
    this.#arrived.push(bytes);
    if (this.#isReading) this.#host.enter(() => this.#drain());
  }

  #drain(): void {
    while (this.#isReading && !this.destroyed) {
      const bytes = this.#arrived.shift();
      if (bytes === undefined) break;
      if (bytes === null) {
        this.push(null);
        if (this.readableLength === 0) this.read(0);
        break;
      }
      this.bytesRead += bytes.length;
      this.#unreadBytes -= bytes.length;
      this.#isReading = this.#onread === null ? this.push(bytes) : this.#into(this.#onread, bytes);
    }
    if (this.#unreadBytes >= WINDOW_BYTES) return;
    const peer = this.#peer;
    if (peer !== null) for (const done of this.#blocked.splice(0)) peer.#host.enter(done);
  }

  #into({ buffer, callback }: OnRead, bytes: Buffer): boolean {
    let isReading = true;
    for (let at = 0; at < bytes.length; ) {
      const memory = typeof buffer === "function" ? buffer() : buffer;
      const length = Math.min(memory.length, bytes.length - at);
      memory.set(bytes.subarray(at, at + length));
      at += length;
      if (callback(length, memory) === false) isReading = false;
    }
    return isReading;
  }

  override _read(): void {
    this.#isReading = true;
    if (this.#arrived.length > 0)
      this.#world.immediate(() => this.#host.enter(() => this.#drain()));
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#unregister();
    this.#idle?.close();
    const peer = this.#peer;
    if (peer !== null && !this.#hasEnded) {
      if (error === null || this.#unreadBytes === 0) this.#send(null);
      else this.#world.after(delayOf(this.#seed, 2), () => peer.resetByPeer());
    }
    if (peer !== null) for (const act of peer.#blocked.splice(0)) act();
    this.#waiting = [];
    done(error);
  }

  #unregister(): void {
    this.#host.sockets.delete(this);
    this.#path.sockets.delete(this);
  }

  /** What a reset of the other end does here. */
  resetByPeer(): void {
    if (this.destroyed) return;
    this.#hasEnded = true;
    const error = Object.assign(new Error("read ECONNRESET"), {
      code: "ECONNRESET",
      syscall: "read",
    });
    this.#host.enter(() => this.destroy(error));
  }

  resetAndDestroy(): this {
    this.#hasEnded = true;
    const peer = this.#peer;
    if (peer !== null) this.#world.after(delayOf(this.#seed, 3), () => peer.resetByPeer());
    return this.destroy();
  }
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }

  setTimeout(ms: number, callback?: () => void): this {
    this.timeout = ms;
    if (callback) {
      if (ms > 0) this.once("timeout", callback);
      else this.off("timeout", callback);
    }
    this.#touch();
    return this;
  }
  #touch(): void {
    this.#idle?.close();
    this.#idle = null;
    if (this.timeout <= 0 || this.destroyed) return;
    const number = ++this.#idleNumber;
    const entry = this.#world.after(this.timeout, () => {
      if (number === this.#idleNumber) this.#host.enter(() => this.emit("timeout"));
    });
    this.#idle = { close: () => (entry.act = null) };
  }

  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  address() {
    return { address: this.localAddress, family: this.remoteFamily, port: this.localPort };
  }
  get pending(): boolean {
    return this.connecting;
  }
  get readyState(): string {
    if (this.connecting) return "opening";
    if (this.destroyed) return "closed";
    return this.writableEnded ? "readOnly" : "open";
  }
}

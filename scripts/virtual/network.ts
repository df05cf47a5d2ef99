/**
 * A network within this process: what connects and listens in virtual time. Bytes of a connection arrive in order, after a
 * delay that depends on the connection and the position alone, so that one packet more elsewhere shifts nothing.
 */
import { mix } from "../../src/simulator/random.ts";
import { delayOf, type Host, type OnRead, type Path, VirtualSocket } from "./virtual-socket.ts";
import type { World } from "./world.ts";

/** A lost SYN: how long until connecting to a silent peer fails. */
const CONNECT_MS = 120_000;

interface Listener {
  readonly host: Host;
  readonly allowHalfOpen: boolean;
  accept(socket: VirtualSocket): void;
}

export class Network {
  readonly world: World;
  readonly #seed: number;
  readonly #listeners = new Map<string, Listener>();
  readonly #paths = new Map<string, Path>();
  #connections = 0;
  #port = 20_000;

  constructor(world: World, seed: number) {
    this.world = world;
    this.#seed = seed;
  }

  freePort(): number {
    return this.#port++;
  }
  listen(address: string, listener: Listener): void {
    if (this.#listeners.has(address))
      throw Object.assign(new Error(`listen EADDRINUSE ${address}`), { code: "EADDRINUSE" });
    this.#listeners.set(address, listener);
  }
  close(address: string): void {
    this.#listeners.delete(address);
  }
  /** The addresses of a process that died. */
  forget(host: Host): void {
    for (const [address, listener] of this.#listeners)
      if (listener.host === host) this.#listeners.delete(address);
  }

  path(address: string): Path {
    let path = this.#paths.get(address);
    if (path === undefined) {
      path = { state: "open", held: [], sockets: new Set(), extraMs: 0 };
      this.#paths.set(address, path);
    }
    return path;
  }
  /** Resets the connections of an address and refuses further ones. */
  shut(address: string): void {
    this.path(address).state = "shut";
    this.reset(address);
  }
  reset(address: string): void {
    for (const socket of this.path(address).sockets) socket.breakOff();
  }
  silence(address: string): void {
    this.path(address).state = "silent";
  }
  heal(address: string): void {
    const path = this.path(address);
    path.state = "open";
    for (const act of path.held.splice(0)) this.world.after(1, act);
  }

  connect(host: Host, address: string, onread: OnRead | null): VirtualSocket {
    const number = this.#connections++;
    const path = this.path(address);
    const seed = mix(this.#seed, number);
    const near = new VirtualSocket(this.world, host, path, seed, onread, false);
    this.world.after(delayOf(seed, 0) + path.extraMs, () => {
      if (near.destroyed || !host.isAlive) return;
      const listener = this.#listeners.get(address);
      if (path.state === "silent")
        return void this.world.after(CONNECT_MS, () => near.fail("ETIMEDOUT"));
      if (path.state === "shut" || !listener?.host.isAlive) return near.fail("ECONNREFUSED");
      const far = new VirtualSocket(
        this.world,
        listener.host,
        path,
        mix(seed, 1),
        null,
        listener.allowHalfOpen,
      );
      near.joinTo(far);
      far.joinTo(near);
      listener.host.enter(() => listener.accept(far));
      host.enter(() => near.open());
    });
    return near;
  }
}

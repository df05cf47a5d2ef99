/**
 * A listener at the end of a slow link: a handshake takes a second, because the kernel drops what comes while the queue of
 * connections that nobody accepts is full, and the client asks again.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { scriptWords } from "./script-words.ts";
import type { Cleanup } from "./temp-database.ts";

/** Shorter than the second after which a client's kernel asks again. */
const HELD_MS = 700;
/** More than the queue holds. */
const FILLERS = 3;

interface Told {
  readonly port?: number;
  readonly isHeld?: true;
  readonly isReached?: true;
}

export class SlowListener {
  readonly #child: ChildProcess;
  #fillers: Socket[] = [];
  port = 0;
  /** Connections that brought something. */
  reached = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", ({ isReached, port }: Told) => {
      if (isReached) this.reached += 1;
      this.port = port ?? this.port;
    });
  }

  async started(): Promise<void> {
    while (this.port === 0) await once(this.#child, "message");
  }

  /** The next handshakes wait. */
  async hold(): Promise<void> {
    for (const socket of this.#fillers) socket.destroy();
    this.#child.send(HELD_MS);
    await once(this.#child, "message");
    this.#fillers = Array.from({ length: FILLERS }, () =>
      connect(this.port, "127.0.0.1").on("error", () => {}),
    );
    await once(this.#fillers[0] as Socket, "connect");
  }

  close(): void {
    for (const socket of this.#fillers) socket.destroy();
    this.#child.kill("SIGKILL");
  }
}

/** @param greets it speaks first, as a mail server does */
export async function startSlowListener(t: Cleanup, greets = false): Promise<SlowListener> {
  const words = scriptWords("test/support/slow-listener-child.ts");
  const program = words.pop() ?? "";
  const listener = new SlowListener(fork(program, greets ? ["greets"] : [], { execArgv: words }));
  t.after(() => listener.close());
  await listener.started();
  return listener;
}

/** What happened, in order: each message a broker accepted, each line of the agent's log, each fault. Equal for equal seeds, to the byte. */
import { createHash } from "node:crypto";
import { appendFileSync, writeFileSync } from "node:fs";
import type { World } from "./world.ts";

/** Lines that a failing seed shows. */
const TAIL_LINES = 40;
const TEXT_MAX = 400;

export class Journal {
  readonly #world: World;
  readonly #startMs: number;
  /** Text that is different in each run, and what it is replaced by. */
  readonly #hidden: readonly (readonly [string, string])[];
  readonly #path: string | null;
  readonly #hash = createHash("sha256");
  #tail: string[] = [];
  #unwritten: string[] = [];
  lines = 0;

  constructor(
    world: World,
    startMs: number,
    hidden: readonly (readonly [string, string])[],
    path: string | null,
  ) {
    this.#world = world;
    this.#startMs = startMs;
    this.#hidden = hidden;
    this.#path = path;
    if (path !== null) writeFileSync(path, "");
  }

  tell(who: string, what: string): void {
    let line = `${new Date(this.#startMs + this.#world.nowMs).toISOString()} ${who}: ${what}`;
    for (const [secret, shown] of this.#hidden) line = line.replaceAll(secret, shown);
    this.lines += 1;
    this.#hash.update(`${line}\n`);
    this.#tail.push(line.length > TEXT_MAX ? `${line.slice(0, TEXT_MAX)}…` : line);
    if (this.#tail.length > 2 * TAIL_LINES) this.#tail = this.#tail.slice(-TAIL_LINES);
    if (this.#path === null) return;
    this.#unwritten.push(line);
    if (this.#unwritten.length >= 50) this.flush();
  }

  flush(): void {
    if (this.#path === null || this.#unwritten.length === 0) return;
    appendFileSync(this.#path, `${this.#unwritten.join("\n")}\n`);
    this.#unwritten = [];
  }

  get tail(): readonly string[] {
    return this.#tail.slice(-TAIL_LINES);
  }

  /** Of all lines so far. */
  digest(): string {
    return this.#hash.copy().digest("hex").slice(0, 16);
  }
}

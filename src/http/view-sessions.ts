import { createHash, randomBytes } from "node:crypto";
import type { Clock, Logger } from "../core/ports.ts";
import type { SessionStore } from "../core/session-store.ts";
import { DAY_MS, HOUR_MS } from "../core/time-units.ts";

/** Sessions held at once; the longest idle one ends. */
const SESSIONS_MAX = 256;
/** Use is written to the disk this often: an SD card has other work, and a session may end that much too early. */
const WRITE_EVERY_MS = HOUR_MS;

interface Session {
  lastUsedMs: number;
  /** As on the disk. */
  writtenMs: number;
}

interface SessionParts {
  /** Null: sessions end with the process. */
  readonly store: SessionStore | null;
  readonly clock: Pick<Clock, "now">;
  readonly logger: Logger;
}

/**
 * Sessions of HTTP_VIEW_TOKEN, such as a wall display's: they outlive restarts, and end some days after their last use,
 * at sign-out, and when the token changes. Their names contain the token, so that they are worth nothing under another.
 */
export class ViewSessions {
  readonly #parts: SessionParts;
  readonly #idleMs: number;
  readonly #token: string;
  readonly #mark: number;
  /** By name, least recently used first. */
  readonly #sessions = new Map<string, Session>();

  constructor(parts: SessionParts, token: string | null, idleDays: number) {
    this.#parts = parts;
    this.#idleMs = idleDays * DAY_MS;
    this.#token = token ?? "";
    this.#mark = digest(this.#token).readUInt16BE(0);
    const ended: string[] = [];
    for (const { name, token: mark, lastUsedMs } of parts.store?.all() ?? []) {
      const isOurs = token !== null && mark === this.#mark && !this.#isOver(lastUsedMs);
      if (isOurs) this.#sessions.set(name, { lastUsedMs, writtenMs: lastUsedMs });
      else ended.push(name);
    }
    this.#write((store) => store.remove(ended));
  }

  /** The key of a new one. */
  open(): string {
    const key = randomBytes(32).toString("base64url");
    for (const [name, { lastUsedMs }] of this.#sessions)
      if (this.#sessions.size >= SESSIONS_MAX || this.#isOver(lastUsedMs)) this.#end(name);
    this.#keep(this.#nameOf(key), this.#now());
    return key;
  }

  /** True while it is valid; using it prolongs it. */
  use(key: string): boolean {
    const name = this.#nameOf(key);
    const session = this.#sessions.get(name);
    if (session === undefined || this.#isOver(session.lastUsedMs)) return false;
    const now = this.#now();
    this.#sessions.delete(name);
    // Also where the clock was set back.
    if (Math.abs(now - session.writtenMs) >= WRITE_EVERY_MS) this.#keep(name, now);
    else this.#sessions.set(name, { ...session, lastUsedMs: now });
    return true;
  }

  /** True while it is valid; does not prolong it. */
  isOpen(key: string): boolean {
    const session = this.#sessions.get(this.#nameOf(key));
    return session !== undefined && !this.#isOver(session.lastUsedMs);
  }

  close(key: string): void {
    const name = this.#nameOf(key);
    if (this.#sessions.has(name)) this.#end(name);
  }

  /** Writes the last use of each before the process ends. */
  save(): void {
    for (const [name, { lastUsedMs, writtenMs }] of this.#sessions)
      if (lastUsedMs !== writtenMs) this.#keep(name, lastUsedMs);
  }

  #keep(name: string, nowMs: number): void {
    this.#sessions.set(name, { lastUsedMs: nowMs, writtenMs: nowMs });
    this.#write((store) => store.put({ name, token: this.#mark, lastUsedMs: nowMs }));
  }

  #end(name: string): void {
    this.#sessions.delete(name);
    this.#write((store) => store.remove([name]));
  }

  /** On a disk that cannot be written, sessions live as long as the process. */
  #write(act: (store: SessionStore) => Promise<void>): void {
    const { store, logger } = this.#parts;
    if (store === null) return;
    act(store).catch((err: unknown) =>
      logger.warn({ err }, "a change of the sessions could not be stored"),
    );
  }

  #isOver(lastUsedMs: number): boolean {
    return this.#now() - lastUsedMs > this.#idleMs;
  }

  #now(): number {
    return Math.round(this.#parts.clock.now());
  }

  #nameOf(key: string): string {
    return digest(`${this.#token}\0${key}`).toString("base64");
  }
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../core/ports.ts";

/** A session that was not used for this long has ended (contract 7). */
const SESSION_IDLE_MS = 24 * 3_600_000;
/** Sessions held at once; the one idle longest gives way. Far more than people and tools at one box. */
const SESSIONS_MAX = 256;
/** Different wrong secrets one address may present in a window before it has to wait. */
const FAILURES_MAX = 10;
const FAILURE_WINDOW_MS = 60_000;
/** Addresses remembered; past this the oldest is forgotten, and all addresses together are limited. */
const ADDRESSES_MAX = 1_000;
const FAILURES_MAX_TOGETHER = 300;

const digest = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();

/** The token of contract 7: compared as digests, so neither length nor content shows in the time it takes. */
export class TokenCheck {
  readonly #digest: Buffer | null;

  constructor(token: string | null) {
    this.#digest = token === null ? null : digest(token);
  }
  get isRequired(): boolean {
    return this.#digest !== null;
  }
  /** True for the token, and for anything where none is set. */
  matches(candidate: string): boolean {
    return this.#digest === null || timingSafeEqual(this.#digest, digest(candidate));
  }
}

/** Keys given out for a secret: dashboard cookies and tokens of the query service's Login. In memory only. */
export class Sessions {
  readonly #clock: Pick<Clock, "monotonic">;
  /** By digest of the key, least recently used first. */
  readonly #lastUsed = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  open(): string {
    const key = randomBytes(32).toString("base64url");
    while (this.#lastUsed.size >= SESSIONS_MAX) {
      const oldest = this.#lastUsed.keys().next();
      if (oldest.done) break;
      this.#lastUsed.delete(oldest.value);
    }
    this.#lastUsed.set(digest(key).toString("base64"), this.#clock.monotonic());
    return key;
  }

  /** True while the session lives; using it prolongs it. Looked up by digest: timing tells nothing of the key. */
  use(key: string): boolean {
    const name = digest(key).toString("base64");
    const lastUsed = this.#lastUsed.get(name);
    if (lastUsed === undefined) return false;
    this.#lastUsed.delete(name);
    const now = this.#clock.monotonic();
    if (now - lastUsed > SESSION_IDLE_MS) return false;
    this.#lastUsed.set(name, now);
    return true;
  }

  /** The same without prolonging it. */
  isOpen(key: string): boolean {
    const lastUsed = this.#lastUsed.get(digest(key).toString("base64"));
    return lastUsed !== undefined && this.#clock.monotonic() - lastUsed <= SESSION_IDLE_MS;
  }

  close(key: string): void {
    this.#lastUsed.delete(digest(key).toString("base64"));
  }
}

/**
 * Slows guessing: counts different wrong secrets per address and in all, in fixed windows. Past the limit, what people type
 * (sign-in, Login) is not looked at, not even the right secret; tokens that programs send are told to wait when they are
 * wrong. One wrong secret over and over is no guessing: a scraper with last year's token locks nobody out.
 */
export class FailureLimit {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #failuresMax: number;
  /** By address, 48 bits of each wrong secret's digest. */
  #failures = new Map<string, Set<number>>();
  #together = 0;
  #windowStart = 0;

  constructor(clock: Pick<Clock, "monotonic">, failuresMax = FAILURES_MAX) {
    this.#clock = clock;
    this.#failuresMax = failuresMax;
    this.#windowStart = clock.monotonic();
  }

  /** Seconds to wait before another secret is looked at; 0 = go ahead. */
  retryAfterS(address: string): number {
    const leftMs = this.#roll();
    const isBlocked =
      (this.#failures.get(address)?.size ?? 0) >= this.#failuresMax ||
      this.#together >= FAILURES_MAX_TOGETHER;
    return isBlocked ? Math.max(1, Math.ceil(leftMs / 1000)) : 0;
  }

  failed(address: string, secret: string): void {
    this.#roll();
    const known = this.#failures.get(address) ?? new Set<number>();
    const mark = digest(secret).readUIntBE(0, 6);
    if (known.has(mark)) return;
    known.add(mark);
    this.#together += 1;
    if (this.#failures.size >= ADDRESSES_MAX && !this.#failures.has(address)) {
      const oldest = this.#failures.keys().next();
      if (!oldest.done) this.#failures.delete(oldest.value);
    }
    this.#failures.set(address, known);
  }

  /** Ms left of the window. */
  #roll(): number {
    const now = this.#clock.monotonic();
    if (now - this.#windowStart >= FAILURE_WINDOW_MS) {
      this.#windowStart = now;
      this.#together = 0;
      this.#failures = new Map();
    }
    return FAILURE_WINDOW_MS - (now - this.#windowStart);
  }
}

/** The bearer token of an Authorization header; null where there is none. */
export function bearerToken(header: string | undefined): string | null {
  const match = /^Bearer +(\S+) *$/i.exec(header ?? "");
  return match?.[1] ?? null;
}

export const SESSION_COOKIE = "gateside_session";

/** The dashboard's session in a Cookie header; null where there is none. */
export function sessionCookie(header: string | undefined): string | null {
  for (const part of (header ?? "").split(";")) {
    const at = part.indexOf("=");
    if (at > 0 && part.slice(0, at).trim() === SESSION_COOKIE) return part.slice(at + 1).trim();
  }
  return null;
}

/** We end a session that was not used for a day; the cookie only has to outlive one that is, such as a wall display's. */
const COOKIE_LIFE_S = 30 * 86_400;

/** HttpOnly: no script reads it. Strict: no other site's link or form carries it. */
export function sessionSetCookie(key: string | null, isSecure: boolean): string {
  const life = key === null ? 0 : COOKIE_LIFE_S;
  return `${SESSION_COOKIE}=${key ?? ""}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${life}${isSecure ? "; Secure" : ""}`;
}

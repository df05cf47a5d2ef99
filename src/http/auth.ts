import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock, Logger } from "../core/ports.ts";
import { DAY_MS } from "../core/time-units.ts";

/** A session ends after this time without use (contract section 7). */
const SESSION_IDLE_MS = DAY_MS;
/** Sessions held at once; the longest idle one is dropped. Far more than the people and tools of one box. */
const SESSIONS_MAX = 256;
/** Different wrong secrets that one address may present in a window before it must wait. */
const FAILURES_MAX = 10;
const FAILURE_WINDOW_MS = 60_000;
/** Addresses remembered; beyond this the oldest is forgotten, and all addresses together are limited. */
const ADDRESSES_MAX = 1_000;
const FAILURES_MAX_TOGETHER = 300;

const digest = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();

/** `all` may change things; `view` may only read. */
export type TokenRole = "all" | "view";

/** HTTP_TOKEN and HTTP_VIEW_TOKEN: compared as digests, so the time taken reveals neither length nor content. */
export class TokenCheck {
  readonly #all: Buffer | null;
  readonly #view: Buffer | null;

  constructor(token: string | null, viewToken: string | null = null) {
    this.#all = token === null ? null : digest(token);
    this.#view = viewToken === null ? null : digest(viewToken);
  }
  get isRequired(): boolean {
    return this.#all !== null;
  }
  /** Null for neither token. If none is required, everyone may do everything. */
  roleOf(candidate: string): TokenRole | null {
    if (this.#all === null) return "all";
    const given = digest(candidate);
    const isAll = timingSafeEqual(this.#all, given);
    const isView = this.#view !== null && timingSafeEqual(this.#view, given);
    return isAll ? "all" : isView ? "view" : null;
  }
}

interface TokenSession {
  readonly role: TokenRole;
  lastUsed: number;
}

/** Keys issued for a secret: dashboard cookies and tokens of the query service's Login. In memory only. */
export class Sessions {
  readonly #clock: Pick<Clock, "monotonic">;
  /** By digest of the key, least recently used first. */
  readonly #sessions = new Map<string, TokenSession>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  open(role: TokenRole): string {
    const key = randomBytes(32).toString("base64url");
    while (this.#sessions.size >= SESSIONS_MAX) {
      const oldest = this.#sessions.keys().next();
      if (oldest.done) break;
      this.#sessions.delete(oldest.value);
    }
    this.#sessions.set(nameOf(key), { role, lastUsed: this.#clock.monotonic() });
    return key;
  }

  /**
   * Its role while the session is valid; using it prolongs it. Looked up by digest, so timing reveals nothing about the
   * key.
   */
  use(key: string): TokenRole | null {
    const name = nameOf(key);
    const session = this.#sessions.get(name);
    if (session === undefined) return null;
    this.#sessions.delete(name);
    const now = this.#clock.monotonic();
    if (now - session.lastUsed > SESSION_IDLE_MS) return null;
    session.lastUsed = now;
    this.#sessions.set(name, session);
    return session.role;
  }

  /** True while it is valid; does not prolong it. */
  isOpen(key: string): boolean {
    const session = this.#sessions.get(nameOf(key));
    return session !== undefined && this.#clock.monotonic() - session.lastUsed <= SESSION_IDLE_MS;
  }

  close(key: string): void {
    this.#sessions.delete(nameOf(key));
  }
}

function nameOf(key: string): string {
  return digest(key).toString("base64");
}

/**
 * Slows guessing: counts different wrong secrets per address and in total, in fixed windows. Above the limit, wrong
 * ones must wait. The right one is always accepted: all clients behind a proxy share an address, and one that guesses
 * must not lock out the others. Repeating one wrong secret is not guessing: a scraper with last year's token uses up
 * no attempts.
 */
export class FailureLimit {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #logger: Pick<Logger, "warn">;
  readonly #failuresMax: number;
  /** By address, 48 bits of each wrong secret's digest. */
  #failures = new Map<string, Set<number>>();
  #together = 0;
  #windowStart = 0;

  constructor(
    {
      clock,
      logger,
    }: { readonly clock: Pick<Clock, "monotonic">; readonly logger: Pick<Logger, "warn"> },
    failuresMax = FAILURES_MAX,
  ) {
    this.#clock = clock;
    this.#logger = logger;
    this.#failuresMax = failuresMax;
    this.#windowStart = clock.monotonic();
  }

  /** Seconds that a client with a wrong secret must wait; 0 = the limit is not reached. */
  retryAfterS(address: string): number {
    const leftMs = this.#roll();
    const isBlocked =
      (this.#failures.get(address)?.size ?? 0) >= this.#failuresMax ||
      this.#together >= FAILURES_MAX_TOGETHER;
    return isBlocked ? Math.max(1, Math.ceil(leftMs / 1000)) : 0;
  }

  /** False for a secret that this address presented before. Logs the one that reaches a limit: a line for each address and window. */
  failed(address: string, secret: string): boolean {
    const leftMs = this.#roll();
    const known = this.#failures.get(address) ?? new Set<number>();
    const mark = digest(secret).readUIntBE(0, 6);
    if (known.has(mark)) return false;
    known.add(mark);
    this.#together += 1;
    if (this.#failures.size >= ADDRESSES_MAX && !this.#failures.has(address)) {
      const oldest = this.#failures.keys().next();
      if (!oldest.done) this.#failures.delete(oldest.value);
    }
    this.#failures.set(address, known);
    const seconds = Math.max(1, Math.ceil(leftMs / 1000));
    if (known.size === this.#failuresMax)
      this.#logger.warn(
        { address, seconds, wrong: known.size },
        "too many wrong tokens from one address: further wrong ones must wait",
      );
    if (this.#together === FAILURES_MAX_TOGETHER)
      this.#logger.warn(
        { seconds, wrong: this.#together },
        "too many wrong tokens from all addresses together: further wrong ones must wait",
      );
    return true;
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

/** The bearer token of an Authorization header; null if there is none. */
export function bearerToken(header: string | undefined): string | null {
  const match = /^Bearer +(\S+) *$/i.exec(header ?? "");
  return match?.[1] ?? null;
}

/** A browser sends the cookies of one host to every port: two boxes there must not use the same. */
export function sessionCookieName(instance: string): string {
  return `gateside_session_${digest(instance).toString("hex").slice(0, 8)}`;
}

/** The dashboard's session in a Cookie header; null if there is none. */
export function sessionCookie(name: string, header: string | undefined): string | null {
  for (const part of (header ?? "").split(";")) {
    const at = part.indexOf("=");
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return null;
}

/**
 * We end a session that is no longer used; the cookie only has to outlive one that is, such as a wall display's.
 * Browsers keep none for longer.
 */
const COOKIE_LIFE_S = 400 * 86_400;

/** HttpOnly: scripts cannot read it. Strict: no other site's link or form sends it. */
export function sessionSetCookie(
  name: string,
  key: string | null,
  { path, isSecure }: { readonly path: string; readonly isSecure: boolean },
): string {
  const life = key === null ? 0 : COOKIE_LIFE_S;
  return `${name}=${key ?? ""}; Path=${path}; HttpOnly; SameSite=Strict; Max-Age=${life}${isSecure ? "; Secure" : ""}`;
}

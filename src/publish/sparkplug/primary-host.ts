/** What a STATE message did: the host came, it went, or the message does not count. */
export type HostChange = "online" | "offline" | "ignored";

interface HostState {
  readonly online: boolean;
  readonly timestamp: number;
}

/**
 * The primary host's state as STATE messages tell it. Timestamps are kept over reconnects, so that a retained message of
 * an older life of the host never counts; being online is not: every session waits to be told again.
 */
export class PrimaryHost {
  readonly hostId: string;
  #isOnline = false;
  #lastTimestamp: number | null = null;

  constructor(hostId: string) {
    this.hostId = hostId;
  }
  get isOnline(): boolean {
    return this.#isOnline;
  }
  /** A new session: wait for STATE again. */
  forget(): void {
    this.#isOnline = false;
  }
  apply(host: string, payload: Uint8Array): HostChange {
    if (host !== this.hostId) return "ignored";
    const state = parseState(payload);
    if (state === null) return "ignored";
    if (this.#lastTimestamp !== null && state.timestamp < this.#lastTimestamp) return "ignored";
    this.#lastTimestamp = state.timestamp;
    this.#isOnline = state.online;
    return state.online ? "online" : "offline";
  }
}

function parseState(payload: Uint8Array): HostState | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch {
    return null;
  }
  if (typeof parsed !== "object" || parsed === null) return null;
  if (!("online" in parsed) || !("timestamp" in parsed)) return null;
  const { online, timestamp } = parsed;
  if (typeof online !== "boolean" || typeof timestamp !== "number") return null;
  return Number.isFinite(timestamp) ? { online, timestamp } : null;
}

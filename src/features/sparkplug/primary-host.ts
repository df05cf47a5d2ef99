import type { Clock } from "../../core/ports.ts";
import { DAY_MS } from "../../core/time-units.ts";

/** The effect of a STATE message: the host came online, it went offline, or the message does not count. */
export type HostChange = "online" | "offline" | "ignored";

interface HostState {
  readonly online: boolean;
  readonly timestamp: number;
}

/**
 * A host whose clock is corrected later would be ignored until its wrong time has come: a time this far ahead of ours
 * counts for its own message, but is not compared with later ones. The specification sets no limit.
 */
const AHEAD_MAX_MS = DAY_MS;
/**
 * Our own clock before this time belongs to a box that does not know the time yet, and says nothing about the host's.
 */
const PLAUSIBLE_SINCE_MS = Date.UTC(2024, 0, 1);

/**
 * The primary host's state from STATE messages. Timestamps are kept across reconnects, so that a retained message of an
 * earlier run of the host never counts; being online is not kept: every session waits for a new STATE. A host has a session with
 * its own timestamp at each server, so those of one say nothing about another.
 */
export class PrimaryHost {
  readonly hostId: string;
  #isOnline = false;
  #server = "";
  readonly #lastTimestamps = new Map<string, number>();
  #doubt: string | null = null;
  readonly #clock: Pick<Clock, "now">;

  constructor(hostId: string, clock: Pick<Clock, "now">) {
    this.hostId = hostId;
    this.#clock = clock;
  }
  /** What is wrong with its times, for the operator; null if nothing is. */
  get doubt(): string | null {
    return this.#doubt;
  }
  get isOnline(): boolean {
    return this.#isOnline;
  }
  /** A new session at this server: wait for STATE again. */
  forget(server: string): void {
    this.#server = server;
    this.#isOnline = false;
  }
  apply(host: string, payload: Uint8Array): HostChange {
    if (host !== this.hostId) return "ignored";
    const state = parseState(payload);
    if (state === null) return "ignored";
    const last = this.#lastTimestamps.get(this.#server);
    if (last !== undefined && state.timestamp < last) {
      this.#doubt = `its STATE of ${timeText(state.timestamp)} is ignored, because it is older than the previous one of ${timeText(last)}; check the host's clock`;
      return "ignored";
    }
    const nowMs = this.#clock.now();
    const isAhead = nowMs >= PLAUSIBLE_SINCE_MS && state.timestamp > nowMs + AHEAD_MAX_MS;
    this.#doubt = isAhead
      ? `its STATE of ${timeText(state.timestamp)} is in the future; check the host's clock`
      : null;
    if (!isAhead) this.#lastTimestamps.set(this.#server, state.timestamp);
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

/** Hosts may send any number. */
function timeText(timestamp: number): string {
  const time = new Date(timestamp);
  return Number.isNaN(time.getTime()) ? String(timestamp) : time.toISOString();
}

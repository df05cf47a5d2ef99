/** What set-up shows of a search at an analytics service. */
import { INTEGER, list, OBJECT, type Of, object, oneOf, TEXT } from "../../../core/schema.ts";
import type { PolledKind } from "../../../core/sensor.ts";

export interface DiscoveryRequest {
  readonly url: string;
  readonly email: string;
  readonly password: string;
  /** WIRE_WORD of that service; null: this agent's. */
  readonly wireWord: string | null;
}

/** What a person adds because the service does not have it. */
export interface DiscoveryHints {
  /** By sensor type code. */
  readonly kinds: Readonly<Record<string, readonly PolledKind[]>>;
  /** A, of every current channel. */
  readonly clamp: number | null;
  readonly loop: { readonly unit: string; readonly low: number; readonly high: number } | null;
}

/** `detail`: current step, or why it failed. */
export const DISCOVERY_STATE = object({
  state: oneOf(["none", "running", "failed", "found"]),
  detail: TEXT,
  devices: INTEGER,
});
export type DiscoveryState = Of<typeof DISCOVERY_STATE>;

export const DISCOVERY_DRAFT = object({
  sensors: { ...list(OBJECT), description: "Not in the site file yet." },
  /** Found, and already in the file. */
  kept: INTEGER,
  /** Found, and left out until somebody says what the service does not know. */
  left: { ...INTEGER, description: "Left out until the request says what they read." },
  /** What could not be determined, a line each. */
  notes: list(TEXT),
  /** The type codes that were found. */
  types: list(object({ type: INTEGER, count: INTEGER, example: TEXT })),
});
export type DiscoveryDraft = Of<typeof DISCOVERY_DRAFT>;

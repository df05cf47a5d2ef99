/** What the agent gives a feature. All of it exists when the feature is built. */
import type { Settings } from "../config/settings-shape.ts";
import type { AlarmEvent } from "../core/alarm/event.ts";
import type { BoxFault } from "../core/box-fault.ts";
import type { JsonValue } from "../core/record.ts";
import type { Kind } from "../core/sensor.ts";
import type { HttpSources } from "../http/parts.ts";
import type { StoreTables } from "../pipeline/store/store.ts";

export interface NewestReading {
  readonly timeMs: number;
  readonly values: Readonly<Record<string, JsonValue>>;
  /** Values that are not good. */
  readonly quality: Readonly<Record<string, { readonly quality: string }>>;
}

interface AlarmEvents {
  /** The newest event of each alarm that stands. */
  standing(): readonly AlarmEvent[];
  /** Calls the listener with the events of each commit. */
  onEvents(listener: (events: readonly AlarmEvent[]) => void): unknown;
}

export interface FeatureHost extends Omit<HttpSources, "settings"> {
  readonly settings: Settings;
  readonly tables: StoreTables;
  /** Texts by name, kept in the store. */
  readonly memory: { get(name: string): string | null; set(name: string, text: string): void };
  /** What is wrong with the box itself, by features too. */
  readonly boxFaults: () => readonly BoxFault[];
  /** Null while ALARMS_ENABLED is false. */
  readonly alarmEvents: AlarmEvents | null;
  /** The newest reading that went live, parsed; null before the first. */
  readonly newest: { of(sensor: string, kind: Kind): NewestReading | null };
}

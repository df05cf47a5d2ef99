/** What the agent gives a feature. All of it exists when the feature is built. */
import type { Settings } from "../config/settings-shape.ts";
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

export interface FeatureHost extends Omit<HttpSources, "settings"> {
  readonly settings: Settings;
  readonly tables: StoreTables;
  /** The newest reading that went live, parsed; null before the first. */
  readonly newest: { of(sensor: string, kind: Kind): NewestReading | null };
}

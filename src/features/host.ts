/** What the agent gives a feature. All of it exists when the feature is built. */
import type { Settings } from "../config/settings-shape.ts";
import type { HttpSources } from "../http/parts.ts";

export interface FeatureHost extends Omit<HttpSources, "settings"> {
  readonly settings: Settings;
}

import type { Kind } from "../../core/sensor.ts";
import type { Datatype, Property } from "./payload.ts";

/** One metric a device can carry. */
export interface MetricShape {
  readonly name: string;
  readonly type: Datatype;
  readonly unit: string | null;
  /** Source of its value; null for metrics that no reading fills (settings, waveforms, alarms). */
  readonly source: { readonly kind: Kind; readonly value: string } | null;
  /** A text that only the site file changes. */
  readonly constant?: string | null;
  /** Further properties its birth declares, e.g. the axis of a waveform. */
  readonly properties?: readonly Property[];
  /** The site file no longer names it; it is announced only because readings of it are still pending. */
  readonly isFormer?: boolean;
}

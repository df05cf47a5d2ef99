/** Machines as devices of the node (plant section 25): born with it, dead only when they are removed. */
import type { Datatype, Metric, MetricValue } from "./payload.ts";

interface MachineMetric {
  readonly name: string;
  readonly type: Datatype;
}

export interface MachineDevice {
  readonly id: string;
  readonly metrics: readonly MachineMetric[];
}

/** Values by the names of metrics; a metric that is missing is null. */
export type MachineValues = Readonly<Record<string, MetricValue>>;

/** The machines as the node needs them. */
export interface MachineSource {
  /** Those of this uplink now. */
  devices(): readonly MachineDevice[];
  /** All that is known of one, for its birth; data follows from here. */
  birth(device: string): MachineValues;
  /** What is due of those that were born, by device: what differs from what was given last. */
  due(): readonly (readonly [device: string, values: MachineValues])[];
  /** Keeps them current until the returned function is called. */
  follow(): () => void;
}

export const machineMetrics = (
  { metrics }: MachineDevice,
  values: MachineValues,
  timeMs: number,
): Metric[] =>
  metrics.map(({ name, type }) => ({ name, type, timeMs, value: values[name] ?? null }));

/** What differs between two births: another list of metrics needs a new one. */
export const declarationOf = ({ metrics }: MachineDevice) => JSON.stringify(metrics);

import type { AgentStatus } from "../../core/agent-status.ts";
import type { Datatype, Metric, MetricValue } from "./payload.ts";

/** One metric of the node itself. The names must not change while the agent runs. */
export interface NodeValue {
  readonly name: string;
  readonly type: Datatype;
  readonly value: MetricValue;
  readonly unit?: string;
}

/** What a SCADA operator wants to know about the box: its gateway link, its backlog, and how long its buffer lasts. */
export function nodeValues(status: AgentStatus): NodeValue[] {
  const { buffer, gateway, clock } = status;
  const lane = buffer.lanes.sparkplug;
  const oldest = lane?.oldestTimeMs ?? null;
  return [
    { name: "agent/version", type: "String", value: status.version },
    { name: "agent/site", type: "String", value: status.site },
    { name: "gateway/up", type: "Boolean", value: gateway.isUp },
    { name: "gateway/error", type: "String", value: gateway.lastError },
    { name: "buffer/alarm", type: "String", value: buffer.alarm },
    { name: "buffer/readings", type: "Int64", value: lane?.readings ?? 0 },
    {
      name: "buffer/oldest_age",
      type: "Double",
      value: oldest === null ? null : Math.max(0, (status.nowMs - oldest) / 1000),
      unit: "s",
    },
    { name: "buffer/size", type: "Int64", value: buffer.databaseBytes, unit: "B" },
    { name: "buffer/hours_until_full", type: "Double", value: buffer.hoursUntilFull, unit: "h" },
    {
      name: "clock/skew",
      type: "Double",
      value: clock.skewMs === null ? null : clock.skewMs / 1000,
      unit: "s",
    },
  ];
}

/** Numbers change all the time and are sent at most this often; states are sent when they change. */
const NUMBERS_INTERVAL_MS = 60_000;

/** Reports by exception: remembers the content of the last birth or data message. */
export class NodeReport {
  #published = new Map<string, MetricValue>();
  #numbersAtMs = 0;

  birth(values: readonly NodeValue[], nowMs: number, monotonicMs: number): Metric[] {
    this.#published = new Map(values.map((v) => [v.name, v.value]));
    this.#numbersAtMs = monotonicMs;
    return values.map((value) => ({
      ...toMetric(value, nowMs),
      properties:
        value.unit === undefined ? [] : [{ key: "engUnit", type: "String", value: value.unit }],
    }));
  }
  /** Only what changed, and only metrics in the birth. */
  changes(values: readonly NodeValue[], nowMs: number, monotonicMs: number): Metric[] {
    const areNumbersDue = monotonicMs - this.#numbersAtMs >= NUMBERS_INTERVAL_MS;
    if (areNumbersDue) this.#numbersAtMs = monotonicMs;
    const changed = values.filter((value) => {
      const isState = value.type === "Boolean" || value.type === "String";
      if (!this.#published.has(value.name) || !(isState || areNumbersDue)) return false;
      return this.#published.get(value.name) !== value.value;
    });
    for (const { name, value } of changed) this.#published.set(name, value);
    return changed.map((value) => toMetric(value, nowMs));
  }
}

function toMetric({ name, type, value }: NodeValue, timeMs: number): Metric {
  return { name, type, timeMs, value };
}

/** What the built agent shows over HTTP. */
import type { BuiltAgent } from "./plant.ts";
import { until } from "./wait-until.ts";

/** The line of a series that has at least the labels that are named, e.g. `gateside_dropped_total{reason="buffer_full"}`. */
export function seriesLine(text: string, series: string): string | undefined {
  const [name = "", labels = ""] = series.replace("}", "").split("{");
  const wanted = labels === "" ? [] : labels.split(",");
  return text.split("\n").find((line) => {
    const has = line.startsWith(`${name} `) || line.startsWith(`${name}{`);
    return has && wanted.every((label) => line.includes(label));
  });
}

/** The value of such a series; NaN while it is not there. */
export async function metricOf(agent: BuiltAgent, series: string): Promise<number> {
  const text = await (await fetch(`${await agent.address}/metrics`)).text();
  return Number(seriesLine(text, series)?.split(" ").at(-1) ?? Number.NaN);
}

export async function untilMetric(
  agent: BuiltAgent,
  series: string,
  holds: (value: number) => boolean,
  timeoutMs = 30_000,
): Promise<void> {
  let value = Number.NaN;
  const look = async () => {
    value = await metricOf(agent, series);
    return holds(value) || undefined;
  };
  await until(series, look, timeoutMs).catch((err: unknown) => {
    throw new Error(`${series} is ${value}`, { cause: err });
  });
}

/** What /readyz says of the broker. */
export async function brokerDetail(agent: BuiltAgent): Promise<string> {
  const answer = await (await fetch(`${await agent.address}/readyz`)).json();
  return String((answer as { checks: { broker: { detail: string } } }).checks.broker.detail);
}

/** What the status says of the buffer. @typeParam B the members that are looked at */
export async function bufferOf<B>(agent: BuiltAgent): Promise<B> {
  const status = await (await fetch(`${await agent.address}/api/v1/status`)).json();
  return (status as { buffer: B }).buffer;
}

/** Readings of all kinds that the agent has stored since its start. */
export async function storedCount(agent: BuiltAgent): Promise<number> {
  const text = await (await fetch(`${await agent.address}/metrics`)).text();
  const counts = [...text.matchAll(/^gateside_readings_total\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

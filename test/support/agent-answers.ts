/** What the built agent tells a person who asks it. */
import assert from "node:assert/strict";
import { deadlineMs } from "./deadline.ts";
import type { BuiltAgent } from "./plant.ts";

const LOOK_MS = 100;

/** Until the condition holds; asks again for as long as it does not. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + deadlineMs(timeoutMs);
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    assert.ok(Date.now() < deadline, `not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

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

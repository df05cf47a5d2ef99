/** What the built agent tells a person who asks it. */
import assert from "node:assert/strict";
import type { BuiltAgent } from "./plant.ts";

const LOOK_MS = 100;

/** Until the condition holds; asks again for as long as it does not. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    assert.ok(Date.now() < deadline, `not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** A series of /metrics, e.g. `gateside_dropped_total{reason="buffer_full"}`; NaN while it is not there. */
export async function metricOf(agent: BuiltAgent, series: string): Promise<number> {
  const text = await (await fetch(`${await agent.address}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? Number.NaN);
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

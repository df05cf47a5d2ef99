/** Brokers that end with the test. */
import type { TestContext } from "node:test";
import { type FakeBroker, type FakeBrokerOptions, startFakeBroker } from "./fake-broker.ts";
import { type Mosquitto, type MosquittoOptions, startMosquitto } from "./mosquitto.ts";

export async function mosquittoFor(
  t: TestContext,
  options: MosquittoOptions = {},
): Promise<Mosquitto> {
  const started = await startMosquitto(options);
  t.after(() => started.close());
  return started;
}

export async function fakeBrokerFor(
  t: TestContext,
  options: FakeBrokerOptions,
): Promise<FakeBroker> {
  const started = await startFakeBroker(options);
  t.after(() => started.close());
  return started;
}

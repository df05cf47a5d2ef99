import type { TestContext } from "node:test";
import { systemClock } from "../../src/lib/clock.ts";
import type { MqttLinkOptions, MqttLinkParts } from "../../src/pipeline/link/link-options.ts";
import { MqttLink } from "../../src/pipeline/link/mqtt-link.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** A link that has begun to connect, at one address unless `urls` are given; it ends with the test. */
export function linkFor(
  t: TestContext,
  { url = "", ...options }: Partial<MqttLinkOptions> & { readonly url?: string },
  parts: Partial<MqttLinkParts> = {},
) {
  const logger = new RecordingLogger();
  const link = new MqttLink(
    { clock: systemClock, logger, ...parts },
    {
      name: "mqtt",
      urls: [url],
      version: 5,
      clientId: `gateside-test-${Math.random().toString(16).slice(2)}`,
      inflight: 100,
      backoffMinMs: 20,
      backoffMaxMs: 50,
      ...options,
    },
  );
  const stop = new AbortController();
  const ended = link.run(stop.signal);
  const end = async () => {
    stop.abort();
    await ended;
  };
  t.after(end);
  return { link, logger, stop, ended, end };
}

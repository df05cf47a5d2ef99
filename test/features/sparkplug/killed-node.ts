/** A process with one edge node, to be killed: `killed-node.ts URL`. */
import { fixedSite } from "../../../src/core/site-source.ts";
import { SparkplugNode } from "../../../src/features/sparkplug/node.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { MqttLink } from "../../../src/pipeline/link/mqtt-link.ts";
import { MemoryOutbox } from "../../support/memory-outbox.ts";

const silent = () => {};
const logger = { debug: silent, info: silent, warn: silent, error: silent };
const node = new SparkplugNode(
  {
    outbox: new MemoryOutbox(),
    waveforms: { read: () => null },
    newest: () => null,
    sensors: () => [{ code: "7", state: "unknown", lastReadingMs: null }],
    nodeValues: () => [],
    bdSeq: { load: () => 40, save: silent },
    clock: systemClock,
    logger,
    createLink: ({ hooks, ...needs }) =>
      new MqttLink(
        { clock: systemClock, logger, hooks },
        {
          ...needs,
          name: "sparkplug",
          urls: [process.argv[2] ?? ""],
          version: 5,
          clientId: "killed",
          inflight: 20,
        },
      ),
    metrics: createMetrics(),
  },
  {
    site: fixedSite({
      site: "s",
      sensors: [{ code: "7", type: 1, kinds: ["rpm"], channels: {} }],
    }),
    group: "plant",
    node: "edge",
    hostId: null,
    backlogRatePerS: 0,
    waveforms: "never",
    inflight: 20,
  },
);
void node.run(new AbortController().signal);

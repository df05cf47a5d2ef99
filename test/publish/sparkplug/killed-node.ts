/** A process with one edge node, to be killed: `killed-node.ts URL`. */
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { SparkplugNode } from "../../../src/publish/sparkplug/node.ts";
import { MemoryOutbox } from "../../support/memory-outbox.ts";

const silent = () => {};
const node = new SparkplugNode(
  {
    outbox: new MemoryOutbox(),
    waveforms: { read: () => null },
    newest: () => null,
    sensors: () => [{ code: "7", state: "unknown", lastReadingMs: null }],
    nodeValues: () => [],
    bdSeq: { load: () => 40, save: silent },
    clock: systemClock,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    metrics: createMetrics(),
  },
  {
    sensors: [{ code: "7", type: 1, kinds: ["rpm"], channels: {} }],
    group: "plant",
    node: "edge",
    hostId: null,
    backlogRatePerS: 0,
    waveforms: "never",
    link: { url: process.argv[2] ?? "", version: 5, clientId: "killed", inflight: 20 },
  },
);
void node.run(new AbortController().signal);

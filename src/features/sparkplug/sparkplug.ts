/** Sparkplug B: an edge node on each uplink that has the format. */
import type { Feature } from "../feature.ts";
import type { SparkplugHost, SparkplugPorts } from "./destination.ts";

export function createSparkplug(host: SparkplugHost, ports: SparkplugPorts): Feature {
  return {
    async open({ sparkplug }, lane) {
      if (sparkplug === null) return null;
      // Loaded only where it is used: its code and schema cost others nothing.
      const { sparkplugDestination } = await import("./destination.ts");
      return sparkplugDestination(sparkplug, lane(), host, ports);
    },
  };
}

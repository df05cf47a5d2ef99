import type { Kind, Sensor } from "../core/sensor.ts";
import { dayOf } from "../core/zone.ts";
import type { Configuration } from "./configuration.ts";
import type { Finding } from "./doctor.ts";
import { openGateway } from "./gateway-access.ts";
import { readOnce } from "./one-read.ts";
import { duration } from "./status.ts";

/** Reads the running day of every sensor and kind once. */
export async function checkGateway(
  configuration: Configuration,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<{ readonly skewMs: number | null }> {
  const { settings, site } = configuration;
  const gateway = await openGateway(configuration);
  const reads: { sensor: Sensor; kind: Kind }[] = site.sensors.flatMap((sensor) =>
    sensor.kinds.map((kind) => ({ sensor, kind })),
  );
  let isReached = false;
  let isLost = false;
  const work = async (): Promise<void> => {
    for (let read = reads.shift(); read !== undefined; read = reads.shift()) {
      const day = dayOf(gateway.clock.now(), settings.gatewayTimezone);
      const { sensor, kind } = read;
      const { result, count, newest } = await readOnce(gateway, { sensor, kind, day }, signal);
      if (signal.aborted) return;
      if (!result.ok && result.isGatewayFault) {
        // One line for the gateway, not one for each of its sensors.
        if (!isLost)
          found({
            what: "gateway",
            state: "failed",
            detail: `${settings.gatewayUrl}: ${result.message}`,
          });
        isLost = true;
        reads.length = 0;
        return;
      }
      if (!isReached)
        found({ what: "gateway", state: "ok", detail: `${settings.gatewayUrl} answers` });
      isReached = true;
      const what = `${sensor.code} ${kind}`;
      if (!result.ok) found({ what, state: "failed", detail: result.message });
      else if (newest === null)
        found({ what, state: "warning", detail: `no usable record on ${day} yet` });
      else {
        const age = duration(gateway.clock.now() - newest.timeMs);
        const doubts = Object.entries(newest.quality).map(([name, d]) => `${name} ${d.reason}`);
        const detail = `${count} records on ${day}, newest ${age} old${doubts.length > 0 ? `; ${doubts.join(", ")}` : ""}`;
        found({ what, state: doubts.length > 0 ? "warning" : "ok", detail });
      }
    }
  };
  try {
    // The first read alone: a gateway that is waking up, or down, is met once.
    const rest = reads.splice(1);
    await work();
    reads.push(...(isLost ? [] : rest));
    await Promise.all(Array.from({ length: settings.gatewayConcurrency }, work));
    return { skewMs: gateway.clock.skewMs };
  } finally {
    await gateway.client.close();
  }
}

/** The gateway as the one-shot commands use it: the agent's own client and reader, over a log of the caller's choice. */
import { openGatewayClient } from "../agent/assemble.ts";
import { DayReader } from "../core/decode/day-reader.ts";
import type { Logger, ReadingLog } from "../core/ports.ts";
import { DftPlans } from "../core/signal/fft.ts";
import { createWireNames } from "../core/wire/wire-names.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { systemClock } from "../lib/clock.ts";
import { silentLogger } from "../lib/logger.ts";
import { createMetrics, type Metrics } from "../lib/metrics.ts";
import { loadByteHashing } from "../lib/xxhash.ts";
import type { ReadDay } from "../poll/day-read.ts";
import { GatewayClock } from "../poll/gateway-clock.ts";
import { createReadDay } from "../poll/read-day.ts";
import type { Configuration } from "./configuration.ts";

export interface GatewayAccess {
  readonly client: GatewayClient;
  readonly metrics: Metrics;
  /** Learns the gateway's time from each answer. */
  readonly clock: GatewayClock;
  readDay(log: ReadingLog): ReadDay;
  /** For ReadRequest.gatewayNow. */
  gatewayNow(dateMs: number | null): number;
}

export async function openGateway(
  { settings }: Configuration,
  logger: Logger = silentLogger,
): Promise<GatewayAccess> {
  const hashing = await loadByteHashing();
  const metrics = createMetrics();
  const clock = new GatewayClock(systemClock);
  const names = createWireNames({ word: settings.wireWord, service: settings.gatewayService });
  const client = openGatewayClient(settings, names, { clock: systemClock, metrics });
  return {
    client,
    metrics,
    clock,
    readDay: (log) =>
      createReadDay({
        source: client,
        log,
        clock: systemClock,
        logger,
        metrics,
        emptyStatuses: new Set(settings.gatewayEmptyStatuses),
        plans: new DftPlans(),
        createReader: (kind, checkpoint, isKnownBytes) =>
          new DayReader({ kind, names, hashing, checkpoint, isKnownBytes }),
      }),
    gatewayNow: (dateMs) => {
      if (dateMs !== null) clock.observe(dateMs);
      return clock.now();
    },
  };
}

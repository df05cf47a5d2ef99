/** The gateway for one-shot commands: the agent's own client and reader, over a log of the caller's choice. */
import { type GatewayClientSettings, openGatewayClient } from "../agent/assemble.ts";
import { createReadingParts } from "../agent/polling.ts";
import { secretsOf, type UplinkSecrets } from "../config/secrets-of.ts";
import type { Settings } from "../config/settings.ts";
import type { Logger, ReadingLog } from "../core/ports.ts";
import { systemClock } from "../lib/clock.ts";
import { silentLogger } from "../lib/logger.ts";
import { createMetrics, type Metrics } from "../lib/metrics.ts";
import { SecretGate } from "../lib/secrets.ts";
import { loadByteHashing } from "../lib/xxhash.ts";
import type { GatewayClient } from "../pipeline/gateway/client.ts";
import type { ReadDay } from "../pipeline/poll/day-read.ts";
import { GatewayClock } from "../pipeline/poll/gateway-clock.ts";
import { createReadDay } from "../pipeline/poll/read-day.ts";
import { DftPlans } from "../pipeline/signal/fft.ts";
import { createWireNames } from "../pipeline/wire/wire-names.ts";

export type GatewaySettings = GatewayClientSettings &
  Parameters<typeof secretsOf>[0] &
  Pick<Settings, "gatewayEmptyStatuses" | "gatewayService" | "wireWord">;

/** Secrets of uplinks are hidden as well; a configuration without any passes an empty list. */
export interface GatewayConfiguration {
  readonly settings: GatewaySettings;
  readonly uplinks: readonly UplinkSecrets[];
}

export interface GatewayAccess {
  readonly client: GatewayClient;
  readonly metrics: Metrics;
  /** For everything displayed that comes from the gateway. */
  readonly gate: SecretGate;
  /** Learns the gateway's time from each response. */
  readonly clock: GatewayClock;
  readDay(log: ReadingLog): ReadDay;
  /** For ReadRequest.gatewayNow. */
  gatewayNow(dateMs: number | null): number;
}

export async function openGateway(
  { settings, uplinks }: GatewayConfiguration,
  logger: Logger = silentLogger,
): Promise<GatewayAccess> {
  const hashing = await loadByteHashing();
  const metrics = createMetrics();
  const clock = new GatewayClock(systemClock);
  const names = createWireNames({ word: settings.wireWord, service: settings.gatewayService });
  const gate = new SecretGate(secretsOf(settings, uplinks));
  const client = openGatewayClient(settings, names, { clock: systemClock, metrics, gate });
  return {
    client,
    metrics,
    gate,
    clock,
    readDay: (log) =>
      createReadDay({
        ...createReadingParts({
          settings,
          gateway: client,
          hashing,
          names,
          plans: new DftPlans(),
          gate,
          clock: systemClock,
          logger,
        }),
        log,
        metrics,
      }),
    gatewayNow: (dateMs) => {
      if (dateMs !== null) clock.observe(dateMs);
      return clock.now();
    },
  };
}

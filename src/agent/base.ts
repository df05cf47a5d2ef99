import { secretsOf } from "../config/secrets-of.ts";
import type { Settings } from "../config/settings.ts";
import { mainUplink } from "../config/uplinks.ts";
import { ENGINES, EngineFailures } from "../core/engine-failures.ts";
import type { Runtime } from "../core/ports.ts";
import { readingKinds } from "../core/sensor.ts";
import { type Site } from "../core/site.ts";
import { ReplaceableSite } from "../core/site-source.ts";
import type { Uplink } from "../core/uplink.ts";
import { systemClock } from "../lib/clock.ts";
import { LoopDelay } from "../lib/loop-delay.ts";
import { createMetrics, type Metrics } from "../lib/metrics.ts";
import type { SystemdNotifier } from "../lib/sd-notify.ts";
import { SecretGate } from "../lib/secrets.ts";
import { VERSION } from "../lib/version.ts";
import type { ByteHashing } from "../pipeline/decode/hashing.ts";
import { GatewayClock } from "../pipeline/poll/gateway-clock.ts";
import { DftPlans } from "../pipeline/signal/fft.ts";
import { createWireNames, type WireNames } from "../pipeline/wire/wire-names.ts";
import type { AgentOptions } from "./agent-options.ts";

/** Shared by all parts of the agent. Built from the options only. */
export interface AgentBase extends Runtime {
  readonly settings: Settings;
  readonly site: ReplaceableSite;
  /** The uplinks that the agent starts with. */
  readonly configured: readonly Uplink[];
  readonly gatewayClock: GatewayClock;
  /** By the monotonic clock: the box's own may be set while the agent runs. */
  readonly startedAt: number;
  readonly notifier: SystemdNotifier | null;
  readonly metrics: Metrics;
  readonly failures: EngineFailures;
  readonly loopDelay: LoopDelay;
  readonly gate: SecretGate;
  readonly names: WireNames;
  readonly plans: DftPlans;
  readonly hashing: ByteHashing;
  /** Of systemd's copies of credentials; null outside of a unit with credentials. */
  readonly credentialsDirectory: string | null;
}

export function createBase(options: AgentOptions, hashing: ByteHashing): AgentBase {
  const { settings, logger } = options;
  const site = new ReplaceableSite(options.site);
  const configured = options.uplinks ?? [mainUplink(settings)].filter((one) => one !== null);
  const clock = options.clock ?? systemClock;
  const metrics = createAgentMetrics(site);
  const failures = new EngineFailures({ clock, logger }, (engine) =>
    metrics.alarmFailures.inc({ engine }),
  );
  site.onChange(() => failures.forget());
  return {
    settings,
    site,
    configured,
    clock,
    gatewayClock: new GatewayClock(clock),
    startedAt: clock.monotonic(),
    logger,
    notifier: options.notifier ?? null,
    metrics,
    failures,
    loopDelay: new LoopDelay(),
    gate: new SecretGate(secretsOf(settings, configured)),
    names: createWireNames({ word: settings.wireWord, service: settings.gatewayService }),
    plans: new DftPlans(),
    hashing,
    credentialsDirectory: options.credentialsDirectory ?? null,
  };
}

function createAgentMetrics(site: ReplaceableSite): Metrics {
  const metrics = createMetrics();
  metrics.buildInfo.set({ version: VERSION, node: process.version }, 1);
  // From 0 on, so that an alert rule on a kind without readings has a series.
  const countFromZero = ({ sensors }: Site) => {
    for (const kind of new Set(sensors.flatMap(readingKinds))) metrics.readings.inc({ kind }, 0);
  };
  for (const engine of ENGINES) metrics.alarmFailures.inc({ engine }, 0);
  countFromZero(site.current);
  site.onChange(countFromZero);
  return metrics;
}

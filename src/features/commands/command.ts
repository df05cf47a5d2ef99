import { findAgent } from "../../cli/agent-client.ts";
import type { CommandContext, Flags } from "../../cli/command.ts";
import { type ComparedConfiguration, loadConfiguration } from "../../cli/configuration.ts";
import { openGateway } from "../../cli/gateway-access.ts";
import { openOwnStore } from "../../cli/own-store.ts";
import type { CommandResult } from "../../core/command.ts";
import { fixedSite } from "../../core/site-source.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/logger.ts";
import { Dispatcher } from "./dispatcher.ts";
import { createSettingsGateway } from "./settings-gateway.ts";

/** Ten may wait before this one, 10 s each, and a gateway that wakes up takes its own time. */
const ANSWER_TIMEOUT_MS = 300_000;

/** Queues sensor settings on the gateway: 0 when queued, 1 when not. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, signal } = context;
  const configuration = loadConfiguration(context);
  const request = requestOf(flags);
  const agent = await findAgent(configuration, signal);
  const result =
    agent === null
      ? await queueHere(configuration, request, signal)
      : await agent.post<CommandResult>("/api/v1/settings", request, signal, ANSWER_TIMEOUT_MS);
  stdout.write(flags.has("json") ? `${JSON.stringify(result, null, 2)}\n` : words(result));
  return result.ok ? 0 : 1;
}

function requestOf(flags: Flags): Record<string, unknown> {
  // A non-numeric value is refused, with the reason, by the same check as MQTT requests.
  const number = (name: string) => {
    const text = flags.required(name).trim();
    return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
  };
  return {
    sensor: flags.required("sensor"),
    IntervalSendData: number("interval-send-data"),
    Range: number("range"),
    IntervalRMS: number("interval-rms"),
    alarm1: number("alarm1"),
    alarm2: number("alarm2"),
    alarm3: number("alarm3"),
  };
}

/** No agent responds: this process does its work, with the same checks, spacing and log. */
async function queueHere(
  configuration: ComparedConfiguration,
  request: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<CommandResult> {
  const { settings, site } = configuration;
  const store = openOwnStore(configuration);
  const gateway = await openGateway(configuration);
  const dispatcher = new Dispatcher(
    {
      gateway: createSettingsGateway(gateway.client),
      log: store.commands,
      clock: systemClock,
      logger: silentLogger,
      counter: gateway.metrics.commands,
    },
    {
      site: fixedSite(site),
      operation: settings.gatewaySettingsOperation,
      wireWord: settings.wireWord,
    },
  );
  const stop = () => void dispatcher.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await dispatcher.execute(request, "cli");
  } finally {
    signal.removeEventListener("abort", stop);
    await dispatcher.close();
    await gateway.client.close();
    await store.close();
  }
}

function words({ outcome, statusNumber, description }: CommandResult): string {
  const number = statusNumber === null ? "" : ` (code ${statusNumber})`;
  const meaning = {
    queued: "queued: the sensor applies the settings when it next contacts the gateway",
    rejected_local: "not queued",
    rejected_service: "refused by the gateway",
    unknown: "unknown",
  }[outcome];
  return `${meaning}${number}${description === "" ? "" : `: ${description}`}\n`;
}

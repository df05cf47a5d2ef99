/** `probe --kind node`: every state read of a sensor once, as it would be stored; registers in both word orders. */

import { type CommandContext, UsageError } from "../../cli/command.ts";
import type { ComparedConfiguration } from "../../cli/configuration.ts";
import { openGateway } from "../../cli/gateway-access.ts";
import { table } from "../../cli/table.ts";
import type { ProbedState } from "../../core/configuration/setup.ts";
import type { Sensor } from "../../core/sensor.ts";
import { probeStates } from "./probe-states.ts";
import { openServiceStates } from "./state-once.ts";

/** 1 if a read fails. */
export async function probe(
  { flags, stdout, signal }: CommandContext,
  configuration: ComparedConfiguration,
  sensor: Sensor,
): Promise<number> {
  const reads = sensor.stateReads ?? [];
  if (reads.length === 0) throw new UsageError(`sensor ${sensor.code} has no stateReads`);
  const gateway = await openGateway(configuration);
  const sources = {
    service: openServiceStates(gateway, configuration),
    zone: configuration.settings.gatewayTimezone,
    nowMs: gateway.clock.now(),
  };
  let probed: ProbedState[];
  try {
    probed = await probeStates(sensor, flags.text("date"), sources, signal);
  } finally {
    await gateway.client.close();
  }
  const report = { sensor: sensor.code, kind: "node", reads: probed };
  stdout.write(flags.has("json") ? `${JSON.stringify(report, null, 2)}\n` : text(report));
  return probed.some(({ error }) => error !== null) ? 1 : 0;
}

function text(report: { readonly sensor: string; readonly reads: readonly ProbedState[] }): string {
  const parts = report.reads.map(({ source, time, values, error }) => {
    if (error !== null) return `\n${source}\n  error: ${error}\n`;
    const hasWide = values.some(({ otherOrder }) => otherOrder !== undefined);
    const head = ["VALUE", "", "UNIT", "QUALITY", ...(hasWide ? ["OTHER WORD ORDER"] : [])];
    const rows = values.map(({ name, value, unit, quality, otherOrder }) => [
      name,
      String(value),
      unit ?? "",
      quality,
      ...(hasWide ? [otherOrder === undefined ? "" : String(otherOrder)] : []),
    ]);
    return `\n${source}, ${time ?? "without its own time"}\n${table([head, ...rows])}`;
  });
  const reads = report.reads.length === 1 ? "1 state read" : `${report.reads.length} state reads`;
  return `${report.sensor} node: ${reads}\n${parts.join("")}`;
}

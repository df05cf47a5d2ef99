/** `probe --kind node`: every state read of a sensor once, as it would be stored; registers in both word orders. */
import type { ModbusStateRead, Sensor, ServiceStateRead } from "../core/sensor.ts";
import { ModbusStates } from "../node-state/modbus-states.ts";
import { type CommandContext, UsageError } from "./command.ts";
import type { Configuration } from "./configuration.ts";
import { type GatewayAccess, openGateway } from "./gateway-access.ts";
import { openServiceStates, readServiceState, registersOnce } from "./state-once.ts";
import { table } from "./table.ts";

/** One value as it was read; `otherOrder` is what it would be with the words of a 32-bit register swapped. */
interface ProbedValue {
  readonly name: string;
  readonly value: unknown;
  readonly unit: string | null;
  readonly quality: string;
  readonly otherOrder?: number | null;
}
interface ProbedRead {
  readonly source: string;
  readonly time: string | null;
  readonly values: readonly ProbedValue[];
  readonly error: string | null;
}

/** 1 where a read fails. */
export async function probeNode(
  { flags, stdout, signal }: CommandContext,
  configuration: Configuration,
  sensor: Sensor,
): Promise<number> {
  const reads = sensor.stateReads ?? [];
  if (reads.length === 0) throw new UsageError(`sensor ${sensor.code} has no stateReads`);
  const date = flags.text("date");
  const modbus = new ModbusStates();
  const gateway = await openGateway(configuration);
  const probed: ProbedRead[] = [];
  try {
    for (const read of reads) {
      const source = read.via === "modbus" ? read.url : read.operation;
      try {
        probed.push(
          read.via === "modbus"
            ? await probeRegisters(modbus, read, signal)
            : await probeService(gateway, configuration, sensor, read, date, signal),
        );
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        probed.push({ source, time: null, values: [], error: message });
      }
    }
  } finally {
    modbus.close();
    await gateway.client.close();
  }
  const report = { sensor: sensor.code, kind: "node", reads: probed };
  stdout.write(flags.has("json") ? `${JSON.stringify(report, null, 2)}\n` : text(report));
  return probed.some(({ error }) => error !== null) ? 1 : 0;
}

async function probeService(
  gateway: GatewayAccess,
  configuration: Configuration,
  sensor: Sensor,
  read: ServiceStateRead,
  date: string | null,
  signal: AbortSignal,
): Promise<ProbedRead> {
  const service = openServiceStates(gateway, configuration);
  const zone = configuration.settings.gatewayTimezone;
  const request = { sensor, read, date, nowMs: gateway.clock.now(), zone };
  const { sample, problem } = await readServiceState(service, request, signal);
  if (sample === null) return { source: read.operation, time: null, values: [], error: problem };
  const values = Object.entries(sample.values).map(([name, value]) => ({
    name,
    value,
    unit: sample.units[name] ?? null,
    quality: sample.quality[name]?.reason ?? "good",
  }));
  const time = sample.time === null ? null : new Date(sample.time.ms).toISOString();
  return { source: read.operation, time, values, error: null };
}

async function probeRegisters(
  modbus: ModbusStates,
  read: ModbusStateRead,
  signal: AbortSignal,
): Promise<ProbedRead> {
  const values = registersOnce(await modbus.words(read, signal), read).map(
    ({ name, value, unit, otherOrder }) => ({
      name,
      value,
      unit,
      quality: value === null ? "not_a_number" : "good",
      ...(otherOrder === undefined ? {} : { otherOrder }),
    }),
  );
  const order = read.wordOrder ?? "big";
  return { source: `${read.url}, word order ${order}`, time: null, values, error: null };
}

function text(report: { readonly sensor: string; readonly reads: readonly ProbedRead[] }): string {
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
    return `\n${source}, ${time ?? "without a time of its own"}\n${table([head, ...rows])}`;
  });
  return `${report.sensor} node: ${report.reads.length} state reads\n${parts.join("")}`;
}

/** Tries every state read of the site file once: which of them respond, and what to do about those that do not. */

import type { ComparedConfiguration } from "../../cli/configuration.ts";
import type { Finding } from "../../cli/finding.ts";
import { type GatewayAccess, openGateway } from "../../cli/gateway-access.ts";
import { duration } from "../../cli/times.ts";
import { CallFailure } from "../../core/failure.ts";
import {
  isRead,
  type ModbusStateRead,
  type Sensor,
  type ServiceStateRead,
} from "../../core/sensor.ts";
import { messageOf } from "../../core/thrown.ts";
import { ModbusFailure, ModbusStates } from "./modbus-states.ts";
import type { StateSample } from "./rules/state-sample.ts";
import { openServiceStates, readServiceState, registersOnce } from "./state-once.ts";

/** Number of timeouts allowed before any response; the remaining reads of that source are not tried then. */
const SILENCES_MAX = 3;
/** Sensors named in the line about those that were not tried. */
const SKIPPED_MAX = 20;
/** Limit of a value's text in a line. */
const SHOWN_MAX = 40;

const EXCEPTION_REMEDIES: Readonly<Record<number, string>> = {
  1: `try the other "function" (3 or 4)`,
  2: `are the addresses counted from 0 (40001 in a manual is address 0), and is "function" the right one (3 or 4)?`,
  3: "try fewer adjacent registers",
  10: `is "unit" the number of this node?`,
  11: `is "unit" the number of this node, and is the node switched on?`,
};

interface NodeSource {
  silences: number;
  /** Once it has responded to a read, each of the others is tried: only some of its nodes are dead. */
  hasResponded: boolean;
  /** Sensors that were not tried because their source failed first. */
  skipped: string[];
  isAway: boolean;
}

/** `isGatewayLost`: its operations are not tried, registers are. */
export async function doctor(
  configuration: ComparedConfiguration,
  isGatewayLost: boolean,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<void> {
  const sensors = configuration.site.sensors.filter(
    (sensor) => isRead(sensor) && (sensor.stateReads?.length ?? 0) > 0,
  );
  if (sensors.length === 0) return;
  const gateway = await openGateway(configuration);
  const modbus = new ModbusStates();
  const sources = new Map<string, NodeSource>();
  const sourceOf = (name: string): NodeSource => {
    let source = sources.get(name);
    if (source === undefined) {
      const isAway = isGatewayLost && !name.startsWith("tcp:");
      sources.set(name, (source = { silences: 0, hasResponded: false, skipped: [], isAway }));
    }
    return source;
  };
  try {
    for (const sensor of sensors) {
      for (const read of sensor.stateReads ?? []) {
        const name = read.via === "modbus" ? read.url : read.operation;
        const source = sourceOf(name);
        if (source.isAway) {
          source.skipped.push(sensor.code);
          continue;
        }
        const what = `${sensor.code} node`;
        try {
          const tried =
            read.via === "modbus"
              ? await tryRegisters(modbus, read, signal)
              : await tryService(gateway, configuration, { sensor, read }, signal);
          source.hasResponded = true;
          found({ what, ...tried });
        } catch (error) {
          if (signal.aborted) return;
          found({ what, state: "failed", detail: failureText(error, name, source.hasResponded) });
          note(source, error);
        }
      }
    }
    for (const [name, { skipped }] of sources) {
      const more = skipped.length > SKIPPED_MAX ? `, and ${skipped.length - SKIPPED_MAX} more` : "";
      const detail = `${name} not tried for ${skipped.slice(0, SKIPPED_MAX).join(", ")}${more}: fix the gateway or the device first, as described above`;
      if (skipped.length > 0) found({ what: "state reads", state: "skipped", detail });
    }
  } finally {
    modbus.close();
    await gateway.client.close();
  }
}

/** Whether the remaining reads of the source are still worth trying. */
function note(source: NodeSource, error: unknown): void {
  if (error instanceof ModbusFailure) {
    if (error.isSilent) source.silences += 1;
    else if (!error.isDeviceAway) source.hasResponded = true;
    source.isAway = error.isDeviceAway;
  } else if (error instanceof CallFailure) {
    if (error.failureClass === "transient") source.silences += 1;
    else source.hasResponded = true;
    source.isAway = error.isGatewayFault;
  }
  if (!source.hasResponded && source.silences >= SILENCES_MAX) source.isAway = true;
}

async function tryService(
  gateway: GatewayAccess,
  configuration: ComparedConfiguration,
  { sensor, read }: { readonly sensor: Sensor; readonly read: ServiceStateRead },
  signal: AbortSignal,
): Promise<Omit<Finding, "what">> {
  const service = openServiceStates(gateway, configuration);
  const nowMs = gateway.clock.now();
  const zone = configuration.settings.gatewayTimezone;
  const request = { sensor, read, date: null, nowMs, zone };
  const { sample, problem } = await readServiceState(service, request, signal);
  const { operation } = read;
  if (sample === null) {
    const remedy = problem?.startsWith("the gateway")
      ? `does the node report it yet, and does the operation need a day ("request")?`
      : `gateside probe --sensor ${sensor.code} --kind node --json, and the vendor's manual, list the names for "from"`;
    return { state: "warning", detail: `${operation}: ${problem}; ${remedy}` };
  }
  const missing = Object.entries(sample.quality).map(([name, { reason }]) => `${name} ${reason}`);
  const age = sample.time === null ? "" : `, ${duration(nowMs - sample.time.ms)} old`;
  const detail = `${operation}: ${valuesText(sample)}${age}`;
  if (missing.length === 0) return { state: "ok", detail };
  const given = Object.keys(sample.raw).join(", ");
  return {
    state: "warning",
    detail: `${detail}; ${missing.join(", ")}: compare "from" with the fields of the record, ${given}`,
  };
}

async function tryRegisters(
  modbus: ModbusStates,
  read: ModbusStateRead,
  signal: AbortSignal,
): Promise<Omit<Finding, "what">> {
  const values = registersOnce(await modbus.words(read, signal), read);
  const shown = values.map(({ name, value, unit }) => `${name} ${value} ${unit}`).join(", ");
  const detail = `${read.url}: ${shown}`;
  const swapped = values.filter(({ looksSwapped }) => looksSwapped);
  if (swapped.length > 0) {
    const others = swapped.map(({ name, otherOrder }) => `${name} ${otherOrder}`).join(", ");
    const order = read.wordOrder === "little" ? "big" : "little";
    return {
      state: "warning",
      detail: `${detail}; with the words swapped: ${others}. Then set "wordOrder": "${order}"`,
    };
  }
  const empty = values.filter(({ value }) => value === null).map(({ name }) => name);
  if (empty.length === 0) return { state: "ok", detail };
  return { state: "warning", detail: `${detail}; not a number: ${empty.join(", ")}` };
}

function valuesText({ values, units }: StateSample): string {
  return Object.entries(values)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${String(value).slice(0, SHOWN_MAX)} ${units[name] ?? ""}`)
    .map((text) => text.trimEnd())
    .join(", ");
}

function failureText(error: unknown, source: string, hasResponded: boolean): string {
  const message = messageOf(error);
  if (error instanceof ModbusFailure) {
    const remedy =
      error.exception !== null
        ? (EXCEPTION_REMEDIES[error.exception] ?? "try again later")
        : error.isSilent && hasResponded
          ? EXCEPTION_REMEDIES[11]
          : `is the device switched on, is "url" its address, and is Modbus TCP enabled on it?`;
    return `${message}; ${remedy}`;
  }
  const isUnknown = error instanceof CallFailure && error.httpStatus === 404;
  return isUnknown
    ? `${source}: ${message}; this gateway has no such operation: compare its name with the vendor's manual, or remove it from stateReads`
    : `${source}: ${message}`;
}

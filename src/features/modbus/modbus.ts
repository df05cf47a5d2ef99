/** The Modbus server over the agent's current values. This file, and its imports, are loaded only if MODBUS_PORT is set. */

import type { SensorState } from "../../core/agent-status.ts";
import { ModbusServer } from "../../lib/modbus/server.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import { MapFileFailure, mapFilePath, readMapFile, writeMapFile } from "./map-file.ts";
import { type MachinePort, type MachineRegisters, RegisterImage } from "./register-image.ts";
import { addressOf, RegisterMap } from "./register-map.ts";
import type { ModbusSettings, ModbusState } from "./spec.ts";

/** Sensor states are refreshed at most this often, however often registers are read. */
const STATES_MS = 500;
/** After a map could not be saved, on a full disk for example. */
const SAVE_AGAIN_MS = 10_000;

type ModbusHost = Pick<
  FeatureHost,
  "site" | "newest" | "status" | "gatewayNow" | "clock" | "logger"
> & { readonly settings: ModbusSettings };

/** If the map cannot be read or saved, there is no Modbus until that is repaired: readings are collected all the same. */
export function createModbus(
  host: ModbusHost,
  port: number,
  machines: MachinePort | null,
): Feature {
  const unopened: ModbusState = { address: null, clients: 0, lastError: null };
  let state = () => unopened;
  return {
    status: () => ({ modbus: state() }),
    async run(signal) {
      try {
        const opened = openServer(host, port, machines);
        state = opened.state;
        await opened.run(signal);
      } catch (error) {
        if (!(error instanceof MapFileFailure)) throw error;
        const lastError = error.message;
        host.logger.error({ problem: lastError }, "modbus cannot start");
        state = () => ({ ...unopened, lastError });
      }
    },
  };
}

interface Served {
  state(): ModbusState;
  run(signal: AbortSignal): Promise<void>;
}

function openServer(host: ModbusHost, port: number, ofMachines: MachinePort | null): Served {
  const { site, logger, clock, settings } = host;
  const path = mapFilePath(settings.dataDir);
  const saved = readMapFile(path);
  const map = new RegisterMap(saved, site.current, ofMachines !== null);
  /** Addresses from here on are not on disk yet: after a restart they could be another value's. */
  let servedEnd = addressOf(saved.length);
  let unsaved: string | null = null;
  const save = () => {
    try {
      writeMapFile(path, map.saved());
    } catch (error) {
      if (!(error instanceof MapFileFailure)) throw error;
      if (unsaved === null)
        logger.error({ problem: error.message }, "modbus addresses of new values are not saved");
      unsaved = `new values have no addresses yet: ${error.message}`;
      return;
    }
    unsaved = null;
    servedEnd = map.end;
    if (map.left > 0) {
      logger.error({ values: map.left }, "no modbus addresses left: these values have none");
    }
  };
  if (map.blocks.length > saved.length) save();
  const startedAt = clock.monotonic();
  let states: ReadonlyMap<string, SensorState> = new Map();
  let machines: ReadonlyMap<number, MachineRegisters> = new Map();
  let gatewayUp = false;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const look = () => {
    if (clock.monotonic() - lookedAt < STATES_MS) return;
    lookedAt = clock.monotonic();
    const status = host.status.status();
    gatewayUp = status.gateway.isUp;
    states = new Map(status.sensors.map((state) => [state.code, state]));
    machines = ofMachines?.registers() ?? machines;
  };
  const codes = () => new Set(site.current.sensors.map(({ code }) => code));
  let configured = codes();
  const image = new RegisterImage(
    map,
    {
      now: host.gatewayNow,
      uptimeS: () => (clock.monotonic() - startedAt) / 1000,
      isGatewayUp: () => {
        look();
        return gatewayUp;
      },
      sensors: () => configured.size,
      newest: (sensor, kind) => (configured.has(sensor) ? host.newest.of(sensor, kind) : null),
      isStale: (sensor, kind) => {
        look();
        return states.get(sensor)?.kinds.find((one) => one.kind === kind)?.isSilent ?? true;
      },
      machine: (id) => {
        look();
        return machines.get(id) ?? null;
      },
      condition: (sensor) => {
        look();
        const state = states.get(sensor);
        if (!configured.has(sensor)) {
          return { state: "removed", lastReadingMs: null, batteryV: null };
        }
        return {
          state: state?.state ?? "unknown",
          lastReadingMs: state?.lastReadingMs ?? null,
          batteryV: state?.batteryV ?? null,
        };
      },
    },
    settings.modbusWordOrder,
  );
  const saveAgain = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      await clock.sleep(SAVE_AGAIN_MS, signal);
      if (unsaved !== null) save();
    }
  };
  const server = new ModbusServer(
    {
      read: (address, count) => (address + count > servedEnd ? null : image.read(address, count)),
      logger,
    },
    { host: settings.modbusHost, port },
  );
  return {
    state: () => ({
      address: server.address,
      clients: server.clients,
      lastError: unsaved ?? server.lastError,
    }),
    async run(signal) {
      const unfollow = ofMachines?.follow();
      const stop = site.onChange(() => {
        configured = codes();
        lookedAt = Number.NEGATIVE_INFINITY;
        if (map.extend(site.current)) save();
      });
      await Promise.all([server.run(signal), saveAgain(signal)]);
      stop();
      unfollow?.();
    },
  };
}

/** The read-only Modbus TCP server for PLCs. */
import { ENVIRONMENT_FLAG } from "../../cli/environment-flag.ts";
import type { Refining } from "../../config/refining.ts";
import { expectation, type RawOf, type SettingSpec } from "../../config/setting-spec.ts";
import { INTEGER, type Of, object, optional, orNull, TEXT } from "../../core/schema.ts";
import { type BoxFault, because } from "../../core/status/box-fault.ts";
import type { FeatureSpec } from "../feature.ts";

const MODBUS_SETTINGS = {
  MODBUS_PORT: {
    type: "text",
    default: "off",
    pattern: "^(off|0|[1-9][0-9]{0,4})$",
    form: "a whole number from 0 to 65535, or off",
    doc: "Port of the read-only Modbus TCP server; 0 = any free port, off = no server.",
  },
  MODBUS_HOST: {
    type: "text",
    default: "127.0.0.1",
    pattern: "^[A-Za-z0-9.:_%\\[\\]-]+$",
    form: "an address or host name",
    doc: "Address that the Modbus server listens on. Modbus has no authentication: whoever can reach it can read every value.",
  },
  MODBUS_WORD_ORDER: {
    type: "choice",
    choices: ["big", "little"],
    default: "big",
    doc: "Order of the two registers of a float: big = high word first.",
  },
} as const satisfies Record<string, SettingSpec>;

type Raw = RawOf<typeof MODBUS_SETTINGS> & {
  readonly HTTP_HOST: string;
  readonly HTTP_PORT: string;
};

const ANY_HOST = ["0.0.0.0", "::", "[::]"];
const PORT_MAX = 65_535;

function refine(raw: Raw, { note }: Pick<Refining, "note">) {
  const { MODBUS_HOST: host, MODBUS_PORT: given, HTTP_HOST: httpHost, HTTP_PORT: http } = raw;
  const port = given === "off" ? null : Number(given);
  if (port !== null && port > PORT_MAX)
    note({
      place: "MODBUS_PORT",
      problem: `${given} is too large`,
      remedy: expectation(MODBUS_SETTINGS.MODBUS_PORT),
    });
  const isShared = host === httpHost || [host, httpHost].some((one) => ANY_HOST.includes(one));
  if (port !== null && port !== 0 && http !== "off" && port === Number(http) && isShared)
    note({
      place: "MODBUS_PORT",
      problem: `${port} is also HTTP_PORT, but two servers cannot share a port`,
      remedy: "use different ports, such as MODBUS_PORT=1502",
    });
  return {
    modbusHost: host.replace(/^\[(.*)\]$/, "$1"),
    /** 0 = any free port; null = no Modbus server. */
    modbusPort: port,
  };
}

const MODBUS_STATE = object({ address: orNull(TEXT), clients: INTEGER, lastError: orNull(TEXT) });
export type ModbusState = Of<typeof MODBUS_STATE>;

/** What the feature reads of the settings. */
export interface ModbusSettings {
  readonly modbusHost: string;
  readonly modbusPort: number | null;
  readonly modbusWordOrder: "big" | "little";
  readonly dataDir: string;
}

export const MODBUS_SPEC = {
  name: "modbus",
  settings: MODBUS_SETTINGS,
  refine,
  status: {
    members: {
      modbus: optional({
        ...orNull(MODBUS_STATE),
        description: "Null unless MODBUS_PORT is set; address is null while it does not listen.",
      }),
    },
    fault({ modbus = null }: { readonly modbus?: ModbusState | null }): BoxFault | null {
      if (modbus === null || (modbus.address !== null && modbus.lastError === null)) return null;
      const text = `The Modbus server does not work as it should${because(modbus.lastError)}.`;
      return { value: "modbus", severity: "alarm", text };
    },
    lines({ modbus = null }: { readonly modbus?: ModbusState | null }): [string, string][] {
      if (modbus === null) return [];
      const { address, clients, lastError } = modbus;
      const down = `DOWN${because(lastError)}`;
      const listens = `${address}, ${clients} clients${because(lastError)}`;
      return [["modbus", address === null ? down : listens]];
    },
  },
  async doctor(settings: ModbusSettings, ask) {
    if (settings.modbusPort === null) return [];
    return [await (await import("./doctor.ts")).checkModbus(settings, settings.modbusPort, ask)];
  },
  commands: [
    {
      name: "modbus-map",
      summary: "print the registers of the Modbus server",
      details:
        "Address, type, sensor, value, unit and meaning of each register, for the PLC programmer. Addresses never change:\nnew sensors get addresses at the end, removed ones keep theirs. Works with or without a running agent.",
      flags: [
        { name: "format", value: "FORMAT", doc: "md (a table for people) or csv", default: "md" },
        ENVIRONMENT_FLAG,
      ],
      examples: ["gateside modbus-map", "gateside modbus-map --format csv > registers.csv"],
      load: () => import("./command.ts"),
    },
  ],
  after: { settings: "HTTP_KEY_FILE", commands: "settings" },
} as const satisfies FeatureSpec;

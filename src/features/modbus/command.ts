import type { CommandContext } from "../../cli/command.ts";
import { loadConfiguration } from "../../cli/configuration.ts";
import { readingKinds } from "../../core/sensor.ts";
import { kindValues } from "../../core/sensors/kind-values.ts";
import { type Site } from "../../core/site.ts";
import { siteMachines } from "../../core/site-machines.ts";
import { csvField } from "../../core/text/csv.ts";
import { MapFileFailure, mapFilePath, readMapFile } from "./map-file.ts";
import { addressOf, isOfMachine, type MachineBlock, RegisterMap } from "./register-map.ts";

const COLUMNS = [
  "address",
  "holding",
  "input",
  "registers",
  "type",
  "sensor",
  "name",
  "kind",
  "value",
  "unit",
  "meaning",
  "machine",
] as const;

const STATUS = "quality × 16384 + age in s (at most 16383): 0 good, 1 uncertain, 2 bad, 3 stale";

/** The registers of the Modbus server, as the running agent has them or as the next start will assign them. */
export async function run(context: CommandContext): Promise<number> {
  const { settings, site } = loadConfiguration(context);
  const format = context.flags.choice("format", ["csv", "md"]);
  try {
    const map = new RegisterMap(
      readMapFile(mapFilePath(settings.dataDir)),
      site,
      settings.publishMachines && settings.alarmsEnabled,
    );
    const rows = [...headerRows(), ...blockRows(map, site)];
    context.stdout.write(format === "csv" ? csv(rows) : markdown(rows, settings.modbusWordOrder));
    if (map.left === 0) return 0;
    context.stderr.write(
      `warning: ${map.left} values have no address: 65536 registers are used up\n`,
    );
    return 1;
  } catch (error) {
    if (!(error instanceof MapFileFailure)) throw error;
    context.stderr.write(`error: ${error.message}\n`);
    return 1;
  }
}

type MapRow = readonly string[];

function headerRows(): MapRow[] {
  const of = (address: number, meaning: string) =>
    row(address, "uint16", { sensor: "", name: "", kind: "", value: "", unit: "" }, meaning);
  return [
    of(0, "version of this layout, 1"),
    of(
      1,
      "seconds since the agent's start, wrapping from 65535 to 0; it stops when the agent stops",
    ),
    of(2, "1 while the gateway responds, otherwise 0"),
    of(3, "sensors in the site file"),
  ];
}

function blockRows(map: RegisterMap, site: Site): MapRow[] {
  const sensors = new Map(site.sensors.map((sensor) => [sensor.code, sensor]));
  const machines = new Map(siteMachines(site).map(({ id, name }) => [id, name]));
  return map.blocks.flatMap((block, index) => {
    if (isOfMachine(block)) return machineRows(block, addressOf(index), machines);
    const { sensor: code, kind, value } = map.served(block);
    const sensor = sensors.get(code);
    const name = sensor?.name ?? "";
    const address = addressOf(index);
    if (kind === null) {
      const place = { sensor: code, name, kind: "", value: "", unit: "" };
      return [
        row(
          address,
          "uint16",
          { ...place, value: "state" },
          "0 unknown, 1 online, 2 silent, 3 removed",
        ),
        row(
          address + 1,
          "uint16",
          { ...place, value: "age", unit: "s" },
          "age of the newest reading; 65535 = 65535 s or more, or no reading",
        ),
        row(address + 2, "uint16", { ...place, value: "battery", unit: "mV" }, "65535 = unknown"),
      ];
    }
    const known =
      sensor !== undefined && readingKinds(sensor).includes(kind)
        ? kindValues(sensor, kind).find((one) => one.name === value)
        : undefined;
    const place = { sensor: code, name, kind, value, unit: known?.unit ?? "" };
    const meaning = known === undefined ? "no longer in the site file: NaN" : typeText(known.type);
    return [
      row(address, "float32", place, meaning),
      row(address + 2, "uint16", { ...place, value: `${value} status`, unit: "" }, STATUS),
    ];
  });
}

/** Of both blocks of a machine. */
const MACHINE_REGISTERS = [
  [
    [
      "condition",
      "",
      "1 alarm, 2 warning, 3 watch, 4 unknown, 5 standing, 6 ok; 0 not known, removed",
    ],
    ["zone", "", "1 A, 2 B, 3 C, 4 D; 0 none"],
    ["stage", "", "of its worst finding, 1 to 3; 0 none"],
    ["running", "", "0 standing, 1 running, 2 not known"],
  ],
  [
    ["open", "", "open alarms and warnings"],
    ["age", "s", "age of its newest judged reading; 65535 = none"],
  ],
] as const;

function machineRows(
  { machine, half }: MachineBlock,
  address: number,
  machines: ReadonlyMap<number, string | null>,
): MapRow[] {
  const name = machines.get(machine) ?? "";
  return MACHINE_REGISTERS[half].map(([value, unit, meaning], at) =>
    row(address + at, "uint16", { sensor: "", name, kind: "", value, unit }, meaning, `${machine}`),
  );
}

function typeText(type: string): string {
  if (type === "boolean") return "1 true, 0 false; NaN = bad";
  return type === "string" ? "1 A, 2 B, 3 C, 4 D; NaN = bad" : "NaN = bad";
}

function row(
  address: number,
  type: "uint16" | "float32",
  place: Readonly<Record<"sensor" | "name" | "kind" | "value" | "unit", string>>,
  meaning: string,
  machine = "",
): MapRow {
  const { sensor, name, kind, value, unit } = place;
  const registers = type === "float32" ? "2" : "1";
  // Conventional references count from 1 after the digit of their table.
  return [
    String(address),
    String(400_001 + address),
    String(300_001 + address),
    registers,
    type,
    sensor,
    name,
    kind,
    value,
    unit,
    meaning,
    machine,
  ];
}

function csv(rows: readonly MapRow[]): string {
  return [COLUMNS, ...rows]
    .map((cells) => `${cells.map((cell) => csvField(cell)).join(",")}\n`)
    .join("");
}

function markdown(rows: readonly MapRow[], wordOrder: string): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text) => text.replace(/\p{Cc}+/gu, " ").replaceAll("|", "\\|")).join(" | ")} |\n`;
  return (
    `Functions 3 and 4 read the same registers; addresses count from 0. float32 is two registers, the ${wordOrder === "big" ? "high" : "low"} word first.\n\n` +
    line(COLUMNS) +
    line(COLUMNS.map(() => "---")) +
    rows.map(line).join("")
  );
}

import { accessSync, constants } from "node:fs";
import { writeFile } from "node:fs/promises";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Environment } from "../config/environment-type.ts";
import { codeOf, codeOrMessage, messageOf } from "../core/thrown.ts";
import { aborted } from "../lib/aborted.ts";
import { silentLogger } from "../lib/logger.ts";
import { makeDirectory } from "../lib/make-directory.ts";
import { ModbusServer } from "../lib/modbus/server.ts";
import { programPath } from "../lib/paths.ts";
import { diagnosedSite } from "../simulator/diagnosed-site.ts";
import type { FaultSpec } from "../simulator/faults.ts";
import { readStateRegisters } from "../simulator/node-state.ts";
import { parseFaultFlag } from "../simulator/parse-fault.ts";
import { startSimulator } from "../simulator/server.ts";
import type { Simulator } from "../simulator/simulator.ts";
import { type CommandContext, type Flags, UsageError } from "./command.ts";
import { switchesOf } from "./simulate-switches.ts";
import { table } from "./table.ts";

/** A table of every sensor of a large plant would only scroll the address away. */
const ROWS_MAX = 20;
/** Interval at which a server that was started is checked until it listens. */
const LISTEN_LOOK_MS = 10;

export async function run(context: CommandContext): Promise<number> {
  const { flags, cwd, stdout, stderr, signal } = context;
  const faults = flags.all("fault").map(faultOf);
  const simulator = await open(flags);
  if (typeof simulator === "string") {
    stderr.write(`gateside simulate: ${simulator}\n`);
    return 1;
  }
  const registers = await serveRegisters(flags, simulator);
  try {
    for (const fault of faults) simulator.faults.add(fault);
    const siteOut = flags.text("site-out");
    if (siteOut !== null) await writeSite(resolve(cwd, siteOut), simulator);
    stdout.write(startText(simulator, context, siteOut, faults));
    if (registers !== null)
      stdout.write(`\nNode states are served as Modbus registers at ${registers.url}\n`);
    await aborted(signal);
  } finally {
    await registers?.close();
    await simulator.close();
  }
  return 0;
}

/** The states of the nodes as a Modbus device; null unless requested. */
async function serveRegisters(
  flags: Flags,
  { plant, clock }: Simulator,
): Promise<{ readonly url: string; close(): Promise<void> } | null> {
  const port = flags.number("state-registers", { min: 0, max: 65_535, isInteger: true });
  if (port === null) return null;
  const host = flags.text("host") ?? "127.0.0.1";
  const read = (address: number, count: number) =>
    readStateRegisters(plant.sensors.length, clock.now(), address, count);
  const server = new ModbusServer({ read, logger: silentLogger }, { host, port });
  const ending = new AbortController();
  const running = server.run(ending.signal);
  while (server.address === null && server.lastError === null) await sleep(LISTEN_LOOK_MS);
  const close = () => {
    ending.abort();
    return running;
  };
  if (server.address === null) {
    await close();
    throw new UsageError(`--state-registers ${port}: ${server.lastError}`);
  }
  return { url: `tcp://${server.address}`, close };
}

/** Printed once if it is not ours: it is the time of all records, and of the requested day. */
function speedText(flags: Flags): string {
  const speed = Number(flags.text("speed"));
  return speed === 1
    ? ""
    : `Plant time runs ${speed} times as fast as real time. Times in records, days and the gateway's clock are in plant time.\n\n`;
}

function faultOf(text: string): FaultSpec {
  const spec = parseFaultFlag(text);
  if (typeof spec === "string") throw new UsageError(`--fault: ${spec}`);
  return spec;
}

/** The running simulator, or why it cannot run here. */
async function open(flags: Flags): Promise<Simulator | string> {
  const whole = (name: string, min: number, max: number) =>
    flags.number(name, { min, max, isInteger: true });
  const port = whole("port", 0, 65_535) ?? 0;
  const zone = flags.text("zone");
  const word = flags.text("word") ?? "sensor";
  const switches = switchesOf(flags);
  if (!/^[a-z][A-Za-z0-9_]*$/.test(word))
    throw new UsageError("--word must be a single word, e.g. acme");
  if (zone !== null && !isZone(zone))
    throw new UsageError(`--zone ${zone} is not an IANA time zone`);
  try {
    return await startSimulator({
      port,
      host: flags.text("host") ?? "127.0.0.1",
      seed: whole("seed", 0, 2 ** 31) ?? 1,
      sensors: whole("sensors", 1, 5000) ?? 14,
      speed: flags.number("speed", { min: 0.01, max: 100_000 }) ?? 1,
      generation: flags.choice("generation", ["1", "2"]) === "1" ? 1 : 2,
      word,
      servicePath: flags.text("service") ?? "SensorService.svc",
      ...(zone === null ? {} : { zone }),
      ...switches,
    });
  } catch (error) {
    const code = codeOf(error);
    if (code === "EADDRINUSE") return `port ${port} is in use; choose another with --port`;
    if (code === null) throw error;
    return messageOf(error);
  }
}

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

async function writeSite(path: string, simulator: Simulator): Promise<void> {
  try {
    makeDirectory(dirname(path));
    await writeFile(path, `${JSON.stringify(diagnosedSite(simulator.siteFile()), null, 2)}\n`);
  } catch (error) {
    throw new UsageError(`--site-out ${path} cannot be written (${codeOrMessage(error)})`);
  }
}

function startText(
  simulator: Simulator,
  { flags, env, cwd }: CommandContext,
  siteOut: string | null,
  faults: readonly FaultSpec[],
): string {
  const { sensors } = simulator.plant;
  const rows = sensors
    .slice(0, ROWS_MAX)
    .map(({ code, type, kinds, name }) => [code, String(type), kinds.join(", "), name]);
  const more = sensors.length > ROWS_MAX ? `  … and ${sensors.length - ROWS_MAX} more\n` : "";
  const word = flags.text("word") ?? "sensor";
  const service = flags.text("service") ?? "SensorService.svc";
  const settings = [
    `GATEWAY_URL=${simulator.url}`,
    `GATEWAY_TIMEZONE=${simulator.zone.name}`,
    ...(word === "sensor" ? [] : [`WIRE_WORD=${word}`]),
    ...(service === "SensorService.svc" ? [] : [`GATEWAY_SERVICE=${service}`]),
    ...(flags.text("generation") === "1" ? ["GATEWAY_GENERATION=1"] : []),
    `SITE_FILE=${siteOut ?? "site.json"}`,
    // Simulated readings stay out of the store of a real plant.
    "DATA_DIR=data-simulated",
    "MQTT_URL=mqtt://127.0.0.1:1883",
  ];
  const site = siteOut === null ? `curl -s ${simulator.url}/sim/site > site.json\n  ` : "";
  const on = faults.length === 0 ? "none" : faults.map(({ name }) => name).join(", ");
  return `Simulated gateway at ${simulator.url}/${service}

${table([["SERIAL", "TYPE", "KINDS", "PLACE"], ...rows])}${more}
${speedText(flags)}Point an agent at it, with the address of your MQTT broker:
  ${site}${settings.join(" ")} ${programCall(env, cwd)} run

Faults on: ${on}. List them with  curl ${simulator.url}/sim/faults
  switch one on:   curl -d '{"name":"cut","times":3}' ${simulator.url}/sim/faults
  switch all off:  curl -X DELETE ${simulator.url}/sim/faults
Stop with Ctrl-C.
`;
}

/** How this program is called here: `gateside` if that is a command, otherwise Node with the running file. */
function programCall(env: Environment, cwd: string): string {
  const directories = (env["PATH"] ?? "").split(delimiter).filter((path) => path !== "");
  if (directories.some((directory) => isProgram(join(directory, "gateside")))) return "gateside";
  const near = relative(cwd, programPath());
  const path = near.startsWith("..") ? programPath() : near;
  return `node ${path.endsWith(".ts") ? "--import tsx " : ""}${path}`;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

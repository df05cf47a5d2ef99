/**
 * Counts the source files that one rpm reading passes through in the agent's process, from the head of the response that holds its
 * record until it is acknowledged and gone from the outbox: read, stored, evaluated by the alarms, published. A file counts if one of
 * its functions runs for every one of several readings, so what happens to run meanwhile (statistics, checks of silence) does not, and
 * the number is the same each time. Says, too, how many of them must be read. With `--files` also which, and by which functions.
 */
import { spawn } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { readFileSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openAgent } from "../src/agent/agent.ts";
import { silentLogger } from "../src/lib/logger.ts";
import { agentConfiguration } from "../test/support/agent-configuration.ts";
import { recordMessages } from "../test/support/mosquitto.ts";
import { openPlant } from "../test/support/plant.ts";

const READINGS = 12;
/** The first ones also create what later ones reuse. */
const FIRST = 3;
/** A file in which fewer run is a leaf: its name says enough. */
const READ_FUNCTIONS = 3;
/** From its arrival at another client until the agent has stored that it was acknowledged. */
const SETTLED_MS = 700;
const SOURCE = fileURLToPath(new URL("../src/", import.meta.url));

if (process.argv[2] === "agent") await measure();
else await run();

async function run(): Promise<void> {
  const { plant, close } = await openPlant({
    simulator: { sensors: 7, historyDays: 0, cadenceS: { rpm: 3 } as never },
    env: { POLL_INTERVAL_S: "2" },
  });
  const site = JSON.parse(readFileSync(plant.siteFile, "utf8")) as {
    sensors: { kinds: string[] }[];
  };
  const rpm = site.sensors.filter(({ kinds }) => kinds.includes("rpm")).slice(0, 1);
  writeFileSync(plant.siteFile, JSON.stringify({ ...site, sensors: rpm }));
  const child = spawn(
    process.execPath,
    ["--import", "tsx", fileURLToPath(import.meta.url), "agent", ...process.argv.slice(2)],
    { env: { ...process.env, ...plant.env }, stdio: "inherit" },
  );
  await new Promise((resolve) => child.once("exit", resolve));
  await close();
}

/** Functions and methods of different names; the translator's own are not ours. */
function named(names: ReadonlySet<string>): number {
  return [...names].filter((name) => name !== "(anonymous)" && !name.startsWith("__")).length;
}

async function measure(): Promise<void> {
  const { configuration } = agentConfiguration(process.env, process.cwd());
  const agent = await openAgent({ ...configuration, logger: silentLogger });
  const stop = new AbortController();
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  // What ran before the bytes arrive is forgotten.
  subscribe("undici:request:headers", () => void session.post("Profiler.takePreciseCoverage"));
  const host = await recordMessages(process.env["MQTT_URL"] ?? "", { topics: ["+/+/+/rpm"] });
  const ended = agent.run(stop.signal);
  /** By file: the functions that ran for every reading. */
  let always: Map<string, Set<string>> | null = null;
  for (let count = 1; count <= FIRST + READINGS; count++) {
    while (host.messages.length < count) await sleep(5);
    await sleep(SETTLED_MS);
    const { result } = await session.post("Profiler.takePreciseCoverage");
    if (count <= FIRST) continue;
    const ran = new Map<string, Set<string>>();
    for (const { url, functions } of result) {
      const path = url.startsWith("file:") ? fileURLToPath(url) : "";
      const called = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
      if (!path.startsWith(SOURCE) || called.length === 0) continue;
      const names = called.map(({ functionName }) => functionName || "(anonymous)");
      ran.set(path.slice(SOURCE.length), new Set(names));
    }
    always ??= ran;
    for (const [file, names] of always) {
      const again = ran.get(file);
      for (const name of names) if (again?.has(name) !== true) names.delete(name);
      if (again === undefined) always.delete(file);
    }
  }
  const found = [...(always?.keys() ?? [])].sort();
  const rooms = new Map<string, number>();
  for (const file of found) {
    const [room = ""] = file.split("/");
    rooms.set(room, (rooms.get(room) ?? 0) + 1);
  }
  const byCount = [...rooms].sort(([a, n], [b, m]) => m - n || a.localeCompare(b));
  const read = found.filter((file) => named(always?.get(file) ?? new Set()) >= READ_FUNCTIONS);
  console.log(`${read.length} of them must be read: ${READ_FUNCTIONS} or more named functions run`);
  console.log(`${found.length} files: ${byCount.map(([room, n]) => `${room} ${n}`).join(", ")}`);
  if (process.argv.includes("--files"))
    for (const file of found) console.log(`${file}: ${[...(always?.get(file) ?? [])].join(", ")}`);
  stop.abort("measured");
  await ended;
  await host.close();
}

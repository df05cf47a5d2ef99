/**
 * Counts the source files that one rpm reading passes through: the files with a function that runs during the second in which the
 * reading is read, stored, evaluated by the alarms, published and acknowledged. Simulator and broker are other processes.
 */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { openAgent } from "../src/agent/agent.ts";
import { silentLogger } from "../src/lib/logger.ts";
import { agentConfiguration } from "../test/support/agent-configuration.ts";
import { openPlant } from "../test/support/plant.ts";

const WINDOW_MS = 1000;
const WINDOWS = 60;
const SOURCE = fileURLToPath(new URL("../src/", import.meta.url));

if (process.argv[2] === "agent") await measure();
else await run();

async function run(): Promise<void> {
  const { plant, close } = await openPlant({
    simulator: { sensors: 7, historyDays: 0, cadenceS: { rpm: 8 } as never },
    env: { POLL_INTERVAL_S: "4" },
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

async function measure(): Promise<void> {
  const { configuration } = agentConfiguration(process.env, process.cwd());
  const agent = await openAgent({ ...configuration, logger: silentLogger });
  const stop = new AbortController();
  const ended = agent.run(stop.signal);
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const seen: (readonly string[])[] = [];
  for (let window = 0; window < WINDOWS; window++) {
    const before = agent.status();
    await session.post("Profiler.takePreciseCoverage");
    await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const after = agent.status();
    // The first seconds also create what later readings reuse.
    const isOne = after.buffer.readings - before.buffer.readings === 1;
    if (window < 10 || !isOne || after.delivered === before.delivered) continue;
    const files = result
      .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
      .flatMap(({ url }) => (url.startsWith("file:") ? [fileURLToPath(url)] : []))
      .filter((path) => path.startsWith(SOURCE))
      .map((path) => path.slice(SOURCE.length));
    seen.push(files.sort());
  }
  // Some seconds include other work, such as statistics and silence checks: the shortest list is that of the reading alone.
  const least = seen.toSorted((a, b) => a.length - b.length)[0] ?? [];
  const rooms = new Map<string, number>();
  for (const file of least) {
    const [room = ""] = file.split("/");
    rooms.set(room, (rooms.get(room) ?? 0) + 1);
  }
  const most = Math.max(...seen.map(({ length }) => length));
  console.log(`${seen.length} readings, ${least.length} to ${most} files; of the least:`);
  console.log([...rooms].map(([room, n]) => `${room} ${n}`).join(", "));
  if (process.argv.includes("--files")) console.log(least.join("\n"));
  stop.abort("measured");
  await ended;
}

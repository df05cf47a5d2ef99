/**
 * Runs tests: those of the given rooms and files (`node scripts/test/run.mjs store cli/probe`), the long ones (`--long`), or all others. Needs no
 * build if the given tests need none. Reports at the end what was skipped and why; with CI=true a missing component is a failure.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleTests } from "./bundle.mjs";
import { directoryInMemory } from "./directory-in-memory.mjs";
import { runAgain } from "./run-again.mjs";
import { runName, sourceOf } from "./run-name.mjs";

const root = resolve(import.meta.dirname, "../..");
/** What `measureMs` returns on the two-core machine for which the tests' deadlines were chosen. */
const USUAL_MS = 1100;
const MEASURED_SIDE_BY_SIDE = 2;
/** On a machine slower than this, deadlines are not extended any further. */
const SLOWNESS_MAX = 20;
/** A file that has left a program or a socket behind after a failure would never end. */
const FILE_MS = 600_000;
/** What the training run for the code cache may take; it takes 5 s. */
const CACHE_MS = 60_000;
/** Many tests wait for processes and brokers, so it takes more tests than cores to keep the cores busy. CI keeps them busy with other steps, too. */
const CONCURRENCY = process.env.CI === "true" ? 4 : 6;
/** The slowest files start first, so that the run does not end with one of them alone. */
const LONGEST = [
  "collect/rights",
  "pipeline/store/space/retention",
  "collect/operator",
  "agent/faults",
  "agent/reload",
  "agent/size-pressure",
  "virtual/breaks",
  "collect/memory",
  "collect/amqp",
  "docs/commands",
  "agent/end-to-end",
  "cli/demo",
  "pipeline/store/space/delivering",
  "agent/broker-faults",
  "dashboard/dashboard",
  "dashboard/measurements",
  "virtual/seed",
  "dashboard/sign-in",
  "agent/days",
  "features/modbus/modbus",
  "features/setup/page",
  "collect/mqtt",
  "dashboard/keyboard",
];
/** Changes to the process or to its time, and measurements of it: a file that contains one of these has a process of its own. */
const NEEDS_ITS_OWN_PROCESS =
  /node:(?:worker_threads|cluster)|support\/(?:browser|collecting|virtual-trials|count-turns|turns)|process\.(?:env\[[^\]]*\] ?=|exit|chdir|on\(|once\(|emit|umask|\w+[uU]sage)|performance\.|monitorEventLoopDelay|heap|mock\.|asOwnerOf|global\.|globalThis/;
/**
 * A file that contains one of these waits for programs, sockets or disks. A few of a room share a process, one after the other: starting Node and loading
 * what they test costs more CPU than many of them. More would leave a core idle while they wait.
 */
const WAITS =
  /node:(?:child_process|net|http|https|tls)|support\/(?:mosquitto|plant|fake-site)|openAgent|runCommand|fetch\(|tempStore|listen\(/;
const WAITING_MAX = 4;

/** Folders whose folders are rooms. */
const FLOORS = ["pipeline", "features"];

/** Half of the CPU time goes into what drives a browser, RabbitMQ or PostgreSQL, runs seeds in virtual time, or types what the documents say. */
const IS_LONG =
  /support\/(?:browser|firefox|rabbitmq|postgres|virtual-trials|documents-machine)\.ts/;

/** Whole agents, each through outages of half a minute or more, and the demo's first two minutes. */
const WHOLE_SYSTEM = [
  "agent/broker-faults",
  "agent/faults",
  "agent/held-store",
  "agent/rights-by-client-id",
  "agent/size-pressure",
  "agent/sparkplug-host",
  "cli/demo",
  "features/condition/machine-uplinks",
  "features/nodes/agent",
  "pipeline/store/space/delivering",
].map((name) => join(root, "test", `${name}.test.ts`));

const testsBelow = (directory) =>
  readdirSync(directory, { recursive: true })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join(directory, name))
    .sort();

function testsOf(name) {
  const found = [join("test", name), join("test", `${name}.test.ts`), name]
    .map((path) => resolve(root, path))
    .find((path) => existsSync(path));
  if (found === undefined) {
    console.error(`no tests are called ${name}: name a folder or file below test/`);
    process.exit(2);
  }
  return found.endsWith(".ts") ? [found] : testsBelow(found);
}

const testsByLength = (areLong) =>
  testsBelow(join(root, "test")).filter(
    (path) => (WHOLE_SYSTEM.includes(path) || IS_LONG.test(readFileSync(path, "utf8"))) === areLong,
  );

/**
 * A machine on which everything would take CI longer than people wait runs GATESIDE_TEST_PERCENT of the long files: those
 * that GATESIDE_TEST_SEED draws, so that other commits get others.
 */
function drawn(paths) {
  const { GATESIDE_TEST_PERCENT: percent = "100", GATESIDE_TEST_SEED: seed = "0" } = process.env;
  const rank = (path) =>
    createHash("sha256")
      .update(`${seed} ${relative(root, path)}`)
      .digest("hex");
  const count = Math.ceil((paths.length * Number(percent)) / 100);
  const chosen = new Set(paths.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, count));
  const leftOut = paths.filter((path) => !chosen.has(path));
  if (leftOut.length > 0) {
    const names = leftOut.map((path) => relative(join(root, "test"), path).replace(".test.ts", ""));
    console.error(
      `# ${count} of ${paths.length} long files, by seed ${seed}, left out: ${names.join(" ")}`,
    );
  }
  return paths.filter((path) => chosen.has(path));
}

/** The program, which tests start hundreds of times, loads in half the CPU time with the code cache of a package. */
function writeCodeCache() {
  const dist = join(root, "dist");
  const [program, launcher, cache] = ["gateside.js", "launch.js", "gateside.cache"].map((name) =>
    join(dist, name),
  );
  // Without it, or at another hour (`npm run hours`), everything works, only more slowly.
  if (!existsSync(launcher) || process.env.FAKETIME !== undefined) return;
  if (existsSync(cache) && statSync(cache).mtimeMs > statSync(program).mtimeMs) return;
  spawnSync(process.execPath, [launcher, "--write-cache"], {
    cwd: dist,
    stdio: "ignore",
    timeout: CACHE_MS,
  });
}

/** Wall time of several parallel TypeScript starts: a busy machine counts as a slow one. */
async function measureMs() {
  const started = performance.now();
  await Promise.all(
    Array.from(
      { length: MEASURED_SIDE_BY_SIDE },
      () =>
        new Promise((done) => {
          spawn(
            process.execPath,
            ["--import", "tsx", "-e", "let n = 0; for (let i = 0; i < 2e7; i++) n += i % 7"],
            {
              cwd: root,
              stdio: "ignore",
            },
          ).on("close", done);
        }),
    ),
  );
  return performance.now() - started;
}

const named = process.argv.slice(2);
const options = named.filter((arg) => arg.startsWith("--") && arg !== "--long");
const names = named.filter((arg) => !arg.startsWith("--"));
const isLong = named.includes("--long");
const all = names.length === 0 ? testsByLength(isLong) : names.flatMap(testsOf);
const files = names.length === 0 && isLong ? drawn(all) : all;
if (names.length === 0 && !isLong)
  console.error(`# ${testsByLength(true).length} long files are left out (npm run test:long)`);
const slowness = Math.min(SLOWNESS_MAX, Math.max(1, (await measureMs()) / USUAL_MS));
if (slowness > 1.5)
  console.error(
    `# this machine is ${slowness.toFixed(1)} times slower than usual; deadlines wait as much longer`,
  );

/** What is run, by name: files of a room that compute alone, then those that share a process though they wait, then one file each. */
function partsOf(paths) {
  const computing = new Map();
  const waiting = new Map();
  const alone = [];
  for (const path of paths) {
    const name = relative(join(root, "test"), path).replace(/\.test\.ts$/, "");
    const [floor, folder] = name.split(sep);
    const room = FLOORS.includes(floor) ? `${floor}/${folder}` : floor;
    const text = readFileSync(path, "utf8");
    const isWaiting = WAITS.test(text);
    const isSlow = isLong || IS_LONG.test(text) || rankOf([name]) < LONGEST.length;
    if (NEEDS_ITS_OWN_PROCESS.test(text) || (isWaiting && isSlow)) alone.push([name, [path]]);
    else {
      const rooms = isWaiting ? waiting : computing;
      rooms.set(room, [...(rooms.get(room) ?? []), path]);
    }
  }
  const shared = [...waiting].flatMap(([room, members]) => {
    if (members.length < WAITING_MAX) {
      computing.set(room, [...(computing.get(room) ?? []), ...members]);
      return [];
    }
    const count = Math.ceil(members.length / WAITING_MAX);
    // Neighbours often wait for the same: they are dealt out.
    return Array.from({ length: count }, (_, at) => [
      `${room}, ${at + 1} of ${count}`,
      members.filter((__, index) => index % count === at),
    ]);
  });
  return [...shared, ...computing, ...alone];
}

function rankOf([name]) {
  const at = LONGEST.findIndex((start) => name.startsWith(start));
  return at === -1 ? LONGEST.length : at;
}

writeCodeCache();
const bundle = await bundleTests(root, files);
process.on("exit", () => rmSync(bundle.directory, { recursive: true, force: true }));
/** The files of a test process, by the name that a failure of the whole process carries. */
const membersOf = new Map();
// Node runs files in the order of their names, whatever the order they are given in.
const runs = partsOf(files)
  .sort((a, b) => rankOf(a) - rankOf(b))
  .map(([name, members], at) => {
    const run = join(bundle.directory, runName(at, name));
    membersOf.set(
      sourceOf(run),
      members.map((path) => relative(root, path)),
    );
    const imports = members.map((path) => pathToFileURL(bundle.compiled(path)).href);
    writeFileSync(run, imports.map((url) => `await import(${JSON.stringify(url)});\n`).join(""));
    return run;
  });
// Long tests keep to the disk.
const inMemory = isLong ? undefined : directoryInMemory();
if (inMemory !== undefined)
  process.on("exit", () => rmSync(inMemory, { recursive: true, force: true }));
const reporter = process.stdout.isTTY ? "spec" : "tap";
const reportFile = join(bundle.directory, "failures.json");
const child = spawn(
  process.execPath,
  [
    "--enable-source-maps",
    "--test",
    `--test-concurrency=${CONCURRENCY}`,
    `--test-timeout=${Math.round(FILE_MS * slowness)}`,
    `--test-reporter=${reporter}`,
    "--test-reporter-destination=stdout",
    "--test-reporter=./scripts/test/summary.mjs",
    "--test-reporter-destination=stderr",
    ...options,
    ...runs,
  ],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      GATESIDE_TEST_SLOWNESS: slowness.toFixed(2),
      GATESIDE_TEST_FAILURES: reportFile,
      GATESIDE_TEST_COMPILED: bundle.directory,
      ...(inMemory === undefined ? {} : { TMPDIR: inMemory, GATESIDE_TEST_DISK: tmpdir() }),
    },
  },
);
let isInterrupted = false;
for (const signal of ["SIGINT", "SIGTERM"])
  process.on(signal, () => {
    isInterrupted = true;
    child.kill(signal);
  });

/** The exit code, once what failed has been run again; the last lines say why it is not 0. */
async function codeAfter(code) {
  if (code === 0 || isInterrupted || process.env.GATESIDE_TEST_ALONE !== undefined)
    return code ?? 1;
  const report = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, "utf8")) : null;
  if (report === null || (report.failures.length === 0 && !report.isSkipFailure)) {
    console.error(`# The run ended with code ${code} without a test that failed`);
    return 1;
  }
  const failures = report.failures.flatMap((failure) =>
    (membersOf.get(failure.file) ?? [failure.file]).map((file) => ({ ...failure, file })),
  );
  const { hasPassed, lines } = await runAgain(root, failures);
  if (report.isSkipFailure)
    lines.push("# Skipped, and with CI=true a failure: the reasons stand above");
  for (const line of lines) console.error(line);
  return hasPassed && !report.isSkipFailure ? 0 : 1;
}
child.on("close", async (code) => process.exit(await codeAfter(code)));

/**
 * Whether tests notice: breaks `count` places of the sources, one line each, and runs those tests of the same room that reach it.
 *
 *   npm run mutate -- --seed 1 --count 120 [--folders core/tx.ts,store/outbox] [--tests core/tx.test.ts,store/outbox] [--jobs 2]
 *   npm run mutate -- --again OUTPUT   # what nobody noticed in a run, whose output is in that file
 *
 * All breaks are compiled into one bundle, each behind a switch, so that a run of a test chooses one by an environment variable. A run
 * that takes too long is repeated alone; if it takes too long again, the break is noticed. What nobody notices is listed.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { SeededRandom } from "../chaos/random.ts";
import { bundleTests, withOwnPlace } from "../test/bundle.mjs";
import { draw, listed, overlaps, type Site, sitesOf, switched } from "./sites.ts";

const root = resolve(import.meta.dirname, "../..");
const { values: flags } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "120" },
    folders: { type: "string", default: "core,store,poll,publish,link" },
    /** Which tests may notice; by default all of the same rooms. */
    tests: { type: "string" },
    jobs: { type: "string", default: "2" },
    /** The output of runs: breaks what nobody noticed in them once more. */
    again: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (flags.help) {
  console.log(`Breaks lines of the sources, one at a time, and says which breaks no test notices.

  --seed N       draws the places (1)
  --count N      places, shared evenly among the folders (120)
  --folders A,B  files and folders of src (core,store,poll,publish,link)
  --tests A,B    tests that may notice; by default all of the same rooms
  --jobs N       test processes at once (2)
  --again FILE   breaks once more what nobody noticed in the runs whose output is in FILE`);
  process.exit(0);
}

type Mutant = Site & { readonly number: number };
interface TestFile {
  readonly path: string;
  readonly ms: number;
  readonly reached: ReadonlySet<number>;
}
type Verdict = "noticed" | "unnoticed" | "too long";

/** A test of a broken program may take this many times as long as of the whole one, and this long beside. */
const PATIENCE = 3;
const PATIENCE_MS = 15_000;

const filesBelow = (directory: string, end: string) =>
  directory.endsWith(".ts") ? [directory] : filesIn(directory, end);
const filesIn = (directory: string, end: string) =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(end) && !name.includes("generated"))
    .map((name) => join(directory, name))
    .sort();

const read = (file: string) => readFileSync(join(root, file), "utf8");
const places = flags.again === undefined ? drawn() : unnoticed(readFileSync(flags.again, "utf8"));
const mutants: Mutant[] = places.map((site, i) => ({ ...site, number: i + 1 }));

function drawn(): Site[] {
  const random = new SeededRandom(Number(flags.seed));
  const folders = flags.folders.split(",").map((folder) =>
    filesBelow(join(root, "src", folder), ".ts")
      .map((path) => relative(root, path))
      .flatMap((file) => sitesOf(file, read(file))),
  );
  return draw(folders, Number(flags.count), () => random.next());
}

function unnoticed(output: string): Site[] {
  const sites: Site[] = [];
  for (const line of new Set(output.split("\n"))) {
    const site = listed(line, read);
    if (site === null) continue;
    if (site === "gone") console.log(`# no longer there: ${line}`);
    else if (sites.some((other) => overlaps(site, other))) console.log(`# beside another: ${line}`);
    else sites.push(site);
  }
  return sites;
}

const roomOf = (file: string) => file.split("/")[1] ?? "";
const rooms = [...new Set(mutants.map(({ file }) => roomOf(file)))];
const tests = (flags.tests?.split(",") ?? rooms).flatMap((name) =>
  filesBelow(join(root, "test", name), ".test.ts"),
);
const breaks = {
  name: "breaks",
  setup({
    onLoad,
  }: {
    onLoad: (on: { filter: RegExp }, load: (file: { path: string }) => unknown) => void;
  }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const own = mutants.filter(({ file }) => join(root, file) === path);
      if (own.length === 0) return undefined;
      return {
        contents: withOwnPlace(path, switched(readFileSync(path, "utf8"), own)),
        loader: "ts",
      };
    });
  },
};

const scratch = mkdtempSync(join(tmpdir(), "gateside-mutate-"));
const preload = join(scratch, "switch.mjs");
writeFileSync(
  preload,
  `import { appendFileSync } from "node:fs";
const chosen = Number(process.env.GATESIDE_MUTANT ?? 0), reached = process.env.GATESIDE_REACHED, seen = new Set();
globalThis.gatesideMutant = (number) => {
  if (reached && !seen.has(number)) { seen.add(number); appendFileSync(reached, number + "\\n"); }
  return number === chosen;
};
`,
);
const bundle = await bundleTests(root, tests, [breaks]);
const broken = new Set(mutants.map(({ file }) => file));
/** Whether a test imports a file that has a break. */
function reaches(test: string): boolean {
  const seen = new Set([relative(root, test)]);
  for (const file of seen) {
    if (broken.has(file)) return true;
    for (const { path } of bundle.imports[file]?.imports ?? []) seen.add(path);
  }
  return false;
}

function runTest(path: string, number: number, deadlineMs: number, reached = ""): Promise<Verdict> {
  const child = spawn(process.execPath, ["--import", preload, bundle.compiled(path)], {
    cwd: root,
    stdio: "ignore",
    detached: true,
    env: {
      ...process.env,
      CI: "true",
      GATESIDE_MUTANT: String(number),
      GATESIDE_REACHED: reached,
      GATESIDE_TEST_SLOWNESS: "1",
    },
  });
  return new Promise((done) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      endGroup(child.pid);
    }, deadlineMs);
    child.once("exit", (code) => {
      clearTimeout(timer);
      // A broken program may leave others of its test behind.
      endGroup(child.pid);
      done(isLate ? "too long" : code === 0 ? "unnoticed" : "noticed");
    });
  });
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** The whole program: how long each test takes, and which places it reaches. */
async function measure(path: string, at: number): Promise<TestFile> {
  const reached = join(scratch, `reached-${at}`);
  writeFileSync(reached, "");
  const started = performance.now();
  const verdict = await runTest(path, 0, 300_000, reached);
  if (verdict !== "unnoticed")
    console.log(`# fails without a break, left out: ${relative(root, path)}`);
  const numbers = readFileSync(reached, "utf8").split("\n").map(Number);
  const isUsable = verdict === "unnoticed";
  return { path, ms: performance.now() - started, reached: new Set(isUsable ? numbers : []) };
}

async function judge(
  mutant: Mutant,
  measured: readonly TestFile[],
  patience: number,
): Promise<Verdict> {
  const own = measured.filter(
    ({ path, reached }) =>
      reached.has(mutant.number) && roomOf(relative(root, path)) === roomOf(mutant.file),
  );
  for (const { path, ms } of own.toSorted((a, b) => a.ms - b.ms)) {
    const verdict = await runTest(path, mutant.number, (PATIENCE * ms + PATIENCE_MS) * patience);
    if (verdict !== "unnoticed") return verdict;
  }
  return "unnoticed";
}

async function all<T, R>(
  items: readonly T[],
  jobs: number,
  run: (item: T, at: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async () => {
    for (let at = next++; at < items.length; at = next++)
      results[at] = await run(items[at] as T, at);
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return results;
}

const placeOf = ({ file, line, from, to }: Mutant) => `${file}:${line}  ${from}  →  ${to}`;
try {
  const jobs = Number(flags.jobs);
  const measured = await all(tests.filter(reaches), jobs, measure);
  const isReached = ({ number }: Mutant) => measured.some(({ reached }) => reached.has(number));
  const tell = (mutant: Mutant) =>
    console.log(`${isReached(mutant) ? "survived" : "no test comes here"}  ${placeOf(mutant)}`);
  const verdicts = await all(mutants, jobs, async (mutant) => {
    const verdict = await judge(mutant, measured, 1);
    if (verdict === "unnoticed") tell(mutant);
    return verdict;
  });
  for (const [i, mutant] of mutants.entries())
    if (verdicts[i] === "too long") {
      verdicts[i] = await judge(mutant, measured, 2);
      if (verdicts[i] === "unnoticed") tell(mutant);
      else verdicts[i] = "noticed";
    }
  for (const folder of flags.again === undefined ? flags.folders.split(",") : []) {
    const own = verdicts.filter((_, i) => mutants[i]?.file.startsWith(`src/${folder}`));
    const noticed = own.filter((verdict) => verdict === "noticed").length;
    console.log(`${folder}: ${noticed} of ${own.length} noticed`);
  }
  const noticed = verdicts.filter((verdict) => verdict === "noticed").length;
  const which = flags.again === undefined ? `seed ${flags.seed}` : flags.again;
  console.log(`${which}: ${noticed} of ${mutants.length} noticed`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
  rmSync(bundle.directory, { recursive: true, force: true });
}

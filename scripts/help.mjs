// What each npm script does, in a line: `npm run help`. A test holds the list against package.json.
import { pathToFileURL } from "node:url";

/** Name of a script, and what it does. Times are those of a quiet PC with two cores. */
export const SCRIPTS = {
  demo: "a simulated plant with broker, agent and dashboard; sets everything up first",
  test: "build, then all tests but the long ones (4 min)",
  "test:long": "the tests that drive browsers, RabbitMQ, PostgreSQL, seeds or outages (10 min)",
  "verify:rest": "format, lint, unused code, types, build, smoke (1 min)",
  verify: "all tests and verify:rest (15 min)",
  "verify:tests": "all tests, long ones included",
  build: "writes dist/gateside.js and what belongs to it (5 s)",
  smoke: "asks the built program for its version",
  types: "checks types (10 s)",
  format: "formats everything",
  "format:check": "says what is not formatted",
  lint: "lints, with types (10 s)",
  unused: "finds unused exports, files and packages",
  package: "makes the Debian packages (5 min)",
  without: "takes features off in a copy, and proves that the rest still works",
  model: "random sequences of the store against a plain model",
  pictures: "every page of the dashboard at three sizes, light and dark",
  shape: "counts lines, long files, casts, imports",
  virtual: "runs the agent under seeds in virtual time; --against compares two commits",
  chaos: "a seeded campaign of kills, cuts and full disks, accounted by id",
  chain: "boxes, broker, collectors and database under faults",
  clusters: "the same with RabbitMQ and PostgreSQL clusters",
  attack: "floods and malformed input against the running agent",
  hours: "tests at other hours of day and year",
  mutate: "breaks lines and says which no test notices",
  bench: "measures, as ratios against named baselines",
  coverage: "tests with coverage (30 min)",
  "coverage:report": "prints the coverage of the last run",
  help: "this list",
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const width = Math.max(...Object.keys(SCRIPTS).map((name) => name.length));
  console.log("npm cit installs the locked packages and runs the tests. npm run NAME:\n");
  for (const [name, does] of Object.entries(SCRIPTS))
    console.log(`  ${name.padEnd(width)}  ${does}`);
}

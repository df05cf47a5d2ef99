/**
 * Shows that the campaign finds bugs: breaks one promise at a time in a copy of the sources, builds it, and runs campaigns on
 * it until one fails. Exits with 0 if every break was found.
 *
 *   node --import tsx scripts/chaos/mutate.ts [--seeds A-B] [--only WORDS]
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

interface Break {
  readonly what: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly formats: string;
}

const BREAKS: readonly Break[] = [
  {
    what: "a delivery is settled before its acknowledgement",
    file: "src/publish/publisher.ts",
    from: "const ticket: Ticket = { entry, queue, left: messages.length,",
    to: 'queue.record(entry, "sent"); const ticket: Ticket = { entry, queue, left: -1,',
    formats: "json",
  },
  {
    what: "a day's progress is committed a second before its readings",
    file: "src/store/readings/response-writer.ts",
    from: "    rows.length = 0;\n",
    to: `    rows.length = 0;
    if (progress !== null && readings.length > 0) {
      db.write(PROGRESS_SQL).run(key.day, stream.stream, progress.checkpoint, progress.records);
      const later = [...readings];
      setTimeout(() => void this.#enqueue(later, null), 1000);
      return;
    }
`,
    formats: "json",
  },
  {
    what: "no record is recognised as known",
    file: "src/store/readings/identities.ts",
    from: 'if (row.id.toString("hex") === id) return true;',
    to: "if (row.id.length === 0) return true;",
    formats: "json",
  },
  {
    what: "a Sparkplug message counts as delivered once it is written",
    file: "src/publish/sparkplug/node.ts",
    from: "onSent: (lane, entries) => window.add(lane, entries, clock.monotonic()),",
    to: 'onSent: (lane, entries) => { window.add(lane, [], clock.monotonic()); this.#settle(lane, entries, "sent"); },',
    formats: "json,sparkplug",
  },
];

function main(): number {
  const { values } = parseArgs({
    options: { seeds: { type: "string", default: "1-4" }, only: { type: "string", default: "" } },
  });
  const [first = 1, last = first] = values.seeds.split("-").map(Number);
  let isProven = true;
  for (const one of BREAKS.filter(({ what }) => what.includes(values.only))) {
    const copy = mkdtempSync(join(tmpdir(), "gateside-mutant-"));
    try {
      const isNoticed = tryBreak(one, copy, first, last);
      process.stdout.write(`${isNoticed ? "noticed" : "NOT NOTICED"}: ${one.what}\n`);
      isProven &&= isNoticed;
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  }
  return isProven ? 0 : 1;
}

function tryBreak(one: Break, copy: string, first: number, last: number): boolean {
  const program = build(one, copy);
  for (let seed = first; seed <= last; seed++) {
    const words = ["--seed", `${seed}`, "--formats", one.formats, "--program", program];
    const { stdout, status } = node(".", join("scripts", "chaos", "run.ts"), ...words);
    process.stdout.write(stdout);
    // 2 means that the campaign could not run.
    if (status !== 0) return status === 1;
  }
  return false;
}

/** Returns the bundle of the broken copy. */
function build({ file, from, to }: Break, copy: string): string {
  for (const name of ["src", "scripts", "config", "package.json", "tsconfig.json", "LICENSE"]) {
    cpSync(name, join(copy, name), { recursive: true });
  }
  symlinkSync(resolve("node_modules"), join(copy, "node_modules"));
  const path = join(copy, file);
  const text = readFileSync(path, "utf8");
  if (text.split(from).length !== 2) throw new Error(`${file} no longer holds: ${from}`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
  const built = node(copy, join("scripts", "build.ts"));
  if (built.status !== 0) throw new Error(`the broken sources do not build: ${built.stderr}`);
  return join(copy, "dist", "gateside.js");
}

const node = (cwd: string, ...args: string[]) =>
  spawnSync(process.execPath, ["--import", "tsx", ...args], { cwd, encoding: "utf8" });

process.exitCode = main();

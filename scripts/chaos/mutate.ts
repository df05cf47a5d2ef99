/**
 * Shows that the campaign notices: breaks one promise at a time in a copy of the sources, builds it, and runs the campaign on
 * it. Exit code 0 when the campaign failed for every break.
 *
 *   node --import tsx scripts/chaos/mutate.ts [--seeds A-B]
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
}

const BREAKS: readonly Break[] = [
  {
    what: "a delivery is settled before its acknowledgement",
    file: "src/publish/publisher.ts",
    from: "const ticket: Ticket = { entry, queue, left: messages.length,",
    to: 'queue.record(entry, "sent"); const ticket: Ticket = { entry, queue, left: -1,',
  },
  {
    what: "a day's progress is committed a second before its readings",
    file: "src/store/answer-writer.ts",
    from: "    rows.length = 0;\n",
    to: `    rows.length = 0;
    if (progress !== null && readings.length > 0) {
      db.write(PROGRESS_SQL).run(key.day, stream.stream, progress.checkpoint, progress.records);
      const later = [...readings];
      setTimeout(() => void this.#enqueue(later, null), 1000);
      return;
    }
`,
  },
  {
    what: "no identity is ever known",
    file: "src/store/identities.ts",
    from: 'if (row.id.toString("hex") === id) return true;',
    to: "if (row.id.length === 0) return true;",
  },
];

function main(): number {
  const { values } = parseArgs({ options: { seeds: { type: "string", default: "1-2" } } });
  let isProven = true;
  for (const one of BREAKS) {
    const copy = mkdtempSync(join(tmpdir(), "gateside-mutant-"));
    try {
      const isNoticed = tryBreak(one, copy, values.seeds);
      process.stdout.write(`${isNoticed ? "noticed" : "NOT NOTICED"}: ${one.what}\n`);
      isProven &&= isNoticed;
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  }
  return isProven ? 0 : 1;
}

function tryBreak({ file, from, to }: Break, copy: string, seeds: string): boolean {
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
  const node = (cwd: string, ...args: string[]) =>
    spawnSync(process.execPath, ["--import", "tsx", ...args], { cwd, encoding: "utf8" });
  const built = node(copy, join("scripts", "build.ts"));
  if (built.status !== 0) throw new Error(`the broken sources do not build: ${built.stderr}`);
  const program = join(copy, "dist", "gateside.js");
  const run = node(".", join("scripts", "chaos", "run.ts"), "--seeds", seeds, "--program", program);
  process.stdout.write(run.stdout);
  // 2 would be a campaign that could not run.
  return run.status === 1;
}

process.exitCode = main();

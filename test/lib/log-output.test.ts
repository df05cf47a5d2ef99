import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { LogOutput, logLines } from "../../src/lib/log-output.ts";
import { createMetrics } from "../../src/lib/metrics.ts";

/** Takes nothing until it drains. */
class Stuck {
  readonly written: string[] = [];
  isStuck = true;
  #waiting: string[] = [];
  readonly #acts = new Map<string, () => void>();
  get writableLength(): number {
    return this.#waiting.join("").length;
  }
  write(text: string): boolean {
    (this.isStuck ? this.#waiting : this.written).push(text);
    return !this.isStuck;
  }
  on(event: string, act: () => void): void {
    this.#acts.set(event, act);
  }
  drain(): void {
    this.isStuck = false;
    this.written.push(...this.#waiting.splice(0));
    this.#acts.get("drain")?.();
  }
}

test("log output – lines wait up to 1 MB, further ones are counted, and that is said once somebody reads again", async () => {
  const stuck = new Stuck();
  const output = new LogOutput(stuck, () => new Date("2026-11-20T12:00:00Z"));
  const before = logLines.dropped;
  const line = `${"x".repeat(99_999)}\n`;
  for (let n = 0; n < 15; n++) output.write(line);
  assert.equal(logLines.dropped - before, 5);
  stuck.drain();
  output.write("next\n");
  assert.equal(stuck.written.length, 12);
  assert.deepEqual(JSON.parse(stuck.written[10] ?? ""), {
    level: 40,
    time: "2026-11-20T12:00:00.000Z",
    msg: "5 lines were not written: nothing took the log's output",
  });
  assert.equal(stuck.written[11], "next\n");
  const { values } = await createMetrics().logLinesDropped.get();
  assert.equal(values[0]?.value, logLines.dropped);
});

for (const how of ["pipe", "socket", "terminal"] as const) {
  test(`log output – a ${how} that nobody reads stops nothing`, async (t) => {
    const script = `
      import { createLogger } from "./src/lib/logger.ts";
      import { logLines } from "./src/lib/log-output.ts";
      const logger = createLogger("info");
      for (let n = 0; n < 5_000; n++) logger.info({ padding: "x".repeat(1000) }, "line");
      setTimeout(() => { process.stderr.write("alive " + logLines.dropped); process.exit(0); }, 50);`;
    const node = [process.execPath, "--import", "tsx", "--input-type=module", "--eval", script];
    const python =
      "import os,pty,subprocess,sys; m,s=pty.openpty(); sys.exit(subprocess.call(sys.argv[1:],stdout=s))";
    const words = {
      // The shell's end of the FIFO is open and is not read.
      pipe: [
        "bash",
        "-c",
        '"$@" > >(exec 1>&-; read -r -t 60 -u 9 9< <(sleep 60))',
        "bash",
        ...node,
      ],
      socket: node,
      terminal: ["python3", "-c", python, ...node],
    }[how];
    const [command = "", ...rest] = words;
    const child = spawn(command, rest, { stdio: ["ignore", "pipe", "pipe"] });
    t.after(() => child.kill("SIGKILL"));
    let said = "";
    child.stderr.on("data", (text: Buffer) => {
      said += text.toString();
      if (said.includes("alive")) child.kill("SIGKILL");
    });
    const late = setTimeout(() => child.kill("SIGKILL"), 30_000);
    await once(child, "exit");
    clearTimeout(late);
    assert.match(said, /alive [1-9]/);
  });
}

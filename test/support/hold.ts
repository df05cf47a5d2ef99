import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { scriptWords } from "./script-words.ts";
import type { Cleanup } from "./temp-database.ts";

/** Another program that holds a store open. */
export interface Hold {
  readonly pid: number;
  /** Resolves once it has ended. */
  release(): Promise<void>;
}

export async function holdStore(
  t: Cleanup,
  dataDir: string,
  how: "reader" | "writer",
): Promise<Hold> {
  const path = join(dataDir, "gateside.db");
  const args = [...scriptWords("test/support/hold-child.ts"), path, how];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  t.after(() => void child.kill("SIGKILL"));
  await Promise.race([
    once(child.stdout, "data"),
    ended.then(() => Promise.reject(new Error("the holder has ended"))),
  ]);
  return {
    pid: child.pid ?? 0,
    async release() {
      child.stdin.end();
      await ended;
    },
  };
}

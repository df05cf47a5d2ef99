/** Starts, kills and stops the agent as systemd and people do, and records whatever it should not have done. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type BuiltAgent, spawnAgent } from "../../test/support/plant.ts";
import { ask } from "./ask.ts";
import { within } from "./within.ts";

/** Contract section 2. */
const STOP_LIMIT_MS = 10_000;
/** An agent that has not ended by then is asked for a report of what keeps it alive, and killed. */
const STUCK_MS = 30_000;
const REPORT_MS = 2000;
/** An agent that cannot start is started again after this pause, as by systemd. */
const RESTART_MS = 500;
/** Until it responds, even on a busy machine. */
const START_MS = 60_000;
const CHECK_MS = 20;
const ANSWER_MS = 5000;

export class AgentKeeper {
  readonly faults: string[] = [];
  readonly #env: Readonly<Record<string, string>>;
  readonly #directory: string;
  readonly #program: string;
  #agent: BuiltAgent | null = null;
  #isClosed = false;

  constructor(env: Readonly<Record<string, string>>, directory: string, program: string) {
    const reports = `--trace-warnings --report-on-signal --report-compact --report-directory=${directory}`;
    this.#env = { ...env, NODE_OPTIONS: reports };
    this.#directory = directory;
    this.#program = program;
  }

  start(): void {
    if (this.#agent || this.#isClosed) return;
    const agent = spawnAgent(this.#env, this.#directory, this.#program);
    this.#agent = agent;
    void agent.ended.then(async (how) => {
      if (this.#agent !== agent) return;
      // It ended by itself: systemd would restart it, and so do we, but it is recorded.
      const said = JSON.stringify(agent.log.at(-1) ?? "");
      this.faults.push(`the agent ended by itself: ${how} ${said}`);
      await sleep(RESTART_MS);
      if (this.#agent !== agent) return;
      this.#agent = null;
      this.start();
    });
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    const agent = this.#agent;
    this.#agent = null;
    await agent?.kill();
  }

  /** SIGTERM. */
  async stop(): Promise<void> {
    const agent = this.#agent;
    this.#agent = null;
    if (!agent) return;
    const startedAt = performance.now();
    try {
      const how = await within(agent.stop(), STUCK_MS, "a clean end");
      // A signal that arrives before the program has its handlers simply ends it.
      if (how !== 0 && how !== "SIGTERM") this.faults.push(`SIGTERM ended the agent with ${how}`);
    } catch {
      this.faults.push(`SIGTERM did not end the agent: ${await this.#whatFor(agent)}`);
      await agent.kill();
    }
    const tookMs = Math.round(performance.now() - startedAt);
    if (tookMs > STOP_LIMIT_MS) this.faults.push(`a clean end took ${tookMs} ms`);
  }

  /**
   * SIGHUP, as `systemctl reload` sends it: to an agent that has started. False if there is none, or if it does not respond
   * in time.
   */
  async hangUp(): Promise<boolean> {
    const agent = this.#agent;
    if (agent === null || !(await this.#answers(agent))) return false;
    return this.#agent === agent && agent.process.kill("SIGHUP");
  }

  async #answers(agent: BuiltAgent): Promise<boolean> {
    const deadline = Date.now() + START_MS;
    while (this.#agent === agent && Date.now() < deadline) {
      if ((await ask(this.#env["DATA_DIR"] ?? "", "/healthz", ANSWER_MS)) !== null) return true;
      await sleep(CHECK_MS);
    }
    return false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.kill();
  }

  /** What keeps the process alive, by Node's own report. */
  async #whatFor(agent: BuiltAgent): Promise<string> {
    agent.process.kill("SIGUSR2");
    await sleep(REPORT_MS);
    const name = readdirSync(this.#directory).findLast((file) => file.startsWith("report."));
    if (name === undefined) return "its event loop does not respond";
    const report = JSON.parse(readFileSync(join(this.#directory, name), "utf8"));
    const active = report.libuv.filter(
      ({ is_active: isActive }: { is_active: boolean }) => isActive,
    );
    return JSON.stringify({ stack: report.javascriptStack?.stack, active }).slice(0, 2000);
  }
}

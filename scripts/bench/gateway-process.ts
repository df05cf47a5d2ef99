/** The bench's side of canned-gateway.ts. */
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import type { CannedNews, CannedOrder, CannedPlan, CannedReport } from "./canned-gateway.ts";
import { sleep } from "./measure.ts";

const QUIET_MS = 1000;

export class GatewayProcess {
  readonly #child: ChildProcess;
  readonly url: string;
  #tickets = 0;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(): Promise<GatewayProcess> {
    const child = fork(join("scripts", "bench", "canned-gateway.ts"), [], {
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const news = await next(child, "listening");
    return new GatewayProcess(child, news.port);
  }

  /** Prepares the days; all are empty until `open`. */
  async plan(plan: CannedPlan): Promise<{ readonly bytes: number; readonly records: number }> {
    const news = next(this.#child, "planned");
    this.#send({ order: "plan", plan });
    return news;
  }
  open(): Promise<unknown> {
    return this.#do({ order: "open" });
  }
  /** One new record of every sensor. */
  advance(): Promise<unknown> {
    return this.#do({ order: "advance" });
  }
  beginCadence(): Promise<unknown> {
    return this.#do({ order: "cadence" });
  }
  async report(): Promise<CannedReport> {
    const ticket = ++this.#tickets;
    const news = next(this.#child, "report");
    this.#send({ order: "report", ticket });
    return news;
  }
  /** Waits until this many more responses than `before` have been sent completely. */
  async served(before: number, count: number): Promise<void> {
    const deadline = performance.now() + 600_000;
    while ((await this.report()).answered < before + count) {
      if (performance.now() > deadline) throw new Error("the gateway was not asked for every day");
      await sleep(5);
    }
  }
  /** Waits until there have been no requests for a while: what a program reads on its own would be counted as part of a round. */
  async quiet(): Promise<void> {
    for (let last = -1; ; ) {
      const { requests } = await this.report();
      if (requests === last) return;
      last = requests;
      await sleep(QUIET_MS);
    }
  }
  close(): void {
    this.#child.disconnect();
  }

  async #do(order: CannedOrder): Promise<unknown> {
    const news = next(this.#child, "done");
    this.#send(order);
    return news;
  }
  #send(order: CannedOrder): void {
    this.#child.send(order);
  }
}

function next<N extends CannedNews["news"]>(
  child: ChildProcess,
  news: N,
): Promise<CannedNews & { news: N }> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error("the canned gateway ended"));
    const look = (message: CannedNews) => {
      if (message.news !== news) return;
      child.off("message", look);
      child.off("exit", ended);
      resolve(message as CannedNews & { news: N });
    };
    child.on("message", look);
    child.once("exit", ended);
  });
}

import { Worker } from "node:worker_threads";
import type { LogFrames } from "../database/database.ts";
import { StoreFailure } from "../database/store-failure.ts";

/** To the thread: the file, and where SQLite is. */
export interface CopyOrder {
  readonly path: string;
  readonly nativeBinding: string | undefined;
}

/** From it: the state of the log afterwards, or what SQLite refused it with. */
export type CopyReport =
  | { readonly frames: LogFrames }
  | { readonly code: string; readonly message: string };

/**
 * Copies a long log into the file in a thread with a connection of its own: tens of megabytes take a slow card seconds.
 * It takes no lock that a writer waits for.
 */
export class LogCopier {
  readonly #order: CopyOrder;
  readonly #program: string;
  #thread: Worker | null = null;

  /** @param program the script of the thread */
  constructor(order: CopyOrder, program: string) {
    this.#order = order;
    this.#program = program;
  }

  /** Rejects with StoreFailure if the disk refuses it, and with another error if there is no thread. */
  copy(): Promise<LogFrames> {
    const thread = this.#thread ?? this.#start();
    return new Promise((resolve, reject) => {
      const end = () => {
        thread.off("message", answered);
        thread.off("error", failed);
        thread.off("exit", ended);
      };
      const answered = (report: CopyReport) => {
        end();
        if ("frames" in report) return resolve(report.frames);
        const cause = Object.assign(new Error(report.message), { code: report.code });
        reject(StoreFailure.from(cause, "copy the log"));
      };
      const failed = (error: unknown) => {
        end();
        this.#thread = null;
        reject(error);
      };
      const ended = () => failed(new Error("the thread has ended"));
      thread.on("message", answered);
      thread.on("error", failed);
      thread.on("exit", ended);
      thread.postMessage("copy");
    });
  }

  #start(): Worker {
    const thread = new Worker(this.#program, { workerData: this.#order });
    // The agent stops although it runs.
    thread.unref();
    this.#thread = thread;
    return thread;
  }

  /** Until the next copy there is no thread. */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    await thread?.terminate();
  }
}

import type { CommandEntry, CommandLog, CommandResult, LoggedOutcome } from "../../core/command.ts";
import type { Runtime } from "../../core/ports.ts";

/** Refusals within this time are written in one transaction and logged in one line, ms. */
const GROUP_MS = 1_000;
/** Limit of refusals waiting to be written; the rate of the gate is far below. */
const WAITING_MAX = 256;

interface CommandRefusal {
  readonly entry: CommandEntry;
  readonly result: CommandResult;
  readonly finishedAtMs: number;
}

export interface RefusalsParts extends Runtime {
  readonly log: CommandLog;
}

/** Requests refused at once: the first is recorded immediately, others within a second together. */
export class Refusals {
  readonly #parts: RefusalsParts;
  #waiting: CommandRefusal[] = [];
  /** Groups that wait for the lock of another program. */
  readonly #writing = new Set<readonly CommandRefusal[]>();
  #writtenAt = Number.NEGATIVE_INFINITY;
  readonly #stop = new AbortController();
  #timer: Promise<void> | null = null;

  constructor(parts: RefusalsParts) {
    this.#parts = parts;
  }

  add(entry: CommandEntry, result: CommandResult): void {
    const { clock } = this.#parts;
    this.#waiting.push({ entry, result, finishedAtMs: clock.now() });
    const sinceMs = clock.monotonic() - this.#writtenAt;
    if (sinceMs >= GROUP_MS || this.#waiting.length >= WAITING_MAX) return void this.#write();
    this.#timer ??= clock.sleep(GROUP_MS - sinceMs, this.#stop.signal).then(() => {
      this.#timer = null;
      return this.#write();
    });
  }

  /** One that is not written yet. */
  find(key: string, sinceMs: number): LoggedOutcome | null {
    const found = [...[...this.#writing].flat(), ...this.#waiting].findLast(
      ({ entry }) => entry.key === key && entry.receivedAtMs >= sinceMs,
    );
    return found?.result ?? null;
  }

  /** Writes waiting refusals. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#timer;
    await this.#write();
  }

  async #write(): Promise<void> {
    const group = this.#waiting.splice(0);
    const last = group.at(-1);
    if (last === undefined) return;
    const { log, logger, clock } = this.#parts;
    this.#writtenAt = clock.monotonic();
    logger.info(
      { count: group.length, sensor: last.entry.sensor, ...last.result },
      group.length === 1
        ? "sensor settings"
        : "sensor settings refused; only the last request is shown",
    );
    this.#writing.add(group);
    try {
      await log.refused(group);
    } catch (err) {
      logger.error({ err, count: group.length }, "refused commands could not be logged");
    } finally {
      this.#writing.delete(group);
    }
  }
}

/** How often a sensor may be asked: for each of its finds, and at the interval. */
import assert from "node:assert/strict";

/** Looked at, ms. */
export const WINDOW_MS = 600_000;
/** Records that become visible within this are one find, ms. */
const FIND_MS = 1_000;
/** For each find: the read that finds it, and those that came too early. */
const READS_A_FIND = 8;
/** Reads while the pattern is learned, or because somebody asked. */
const READS_MORE = 80;
/** An interval is shortened by jitter, and to go out with others. */
const SHORTENED = 0.8;

/** Times of one sensor, monotonic ms, ascending; those before the window go. */
class Times {
  #at: number[] = [];

  add(at: number): void {
    this.#at.push(at);
  }
  /** @param apartMs times closer than this are one */
  count(fromMs: number, toMs: number, apartMs = 0): number {
    this.#at = this.#at.filter((at) => at >= fromMs);
    let count = 0;
    let last = Number.NEGATIVE_INFINITY;
    for (const at of this.#at.toSorted((a, b) => a - b)) {
      if (at > toMs || at - last < apartMs) continue;
      count += 1;
      last = at;
    }
    return count;
  }
}

export class ReadRate {
  readonly #reads = new Map<string, Times>();
  readonly #found = new Map<string, Times>();

  read(code: string, at: number): void {
    timesOf(this.#reads, code).add(at);
  }
  visible(code: string, at: number): void {
    timesOf(this.#found, code).add(at);
  }

  /** Of the last ten minutes, in which nothing was disturbed. */
  check(code: string, now: number, intervalMs: number, story: () => string): void {
    const from = now - WINDOW_MS;
    const reads = timesOf(this.#reads, code).count(from, now);
    const finds = timesOf(this.#found, code).count(from, now, FIND_MS);
    const most = WINDOW_MS / (SHORTENED * intervalMs) + READS_A_FIND * finds + READS_MORE;
    assert.ok(
      reads <= most,
      `sensor ${code}: ${reads} reads in ten minutes, for ${finds} finds\n${story()}`,
    );
  }
}

function timesOf(all: Map<string, Times>, code: string): Times {
  const known = all.get(code) ?? new Times();
  all.set(code, known);
  return known;
}

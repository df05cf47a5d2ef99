/** The newest lines of the log, as they went to stdout. */
import { LOG_LEVELS, type LogLine, type LogPage, type LogQuery } from "../core/status/log-view.ts";

const LINES_MAX = 5_000;
const BYTES_MAX = 2_000_000;
/** The oldest lines are removed in blocks: moving the rest for each new line would cost more than the lines. */
const BLOCK = 500;

interface KeptLine extends LogLine {
  readonly level: number;
  readonly bytes: number;
}

export class LogMemory {
  #lines: KeptLine[] = [];
  /** Of the kept ones, those before this are over the limits. */
  #first = 0;
  #bytes = 0;
  #count = 0;

  /** @param line one JSON object with its line end, as pino writes it */
  write(line: string): void {
    const text = line.trimEnd();
    const bytes = Buffer.byteLength(text);
    const level = Number(/^\{"level":(\d+)/.exec(text)?.[1] ?? LOG_LEVELS.info);
    this.#count += 1;
    this.#lines.push({ number: this.#count, text, level, bytes });
    this.#bytes += bytes;
    while (this.#lines.length - this.#first > LINES_MAX || this.#bytes > BYTES_MAX) {
      this.#bytes -= this.#lines[this.#first]?.bytes ?? 0;
      this.#first += 1;
    }
    if (this.#first < BLOCK) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#first = 0;
  }

  page({ after, level, text, limit }: LogQuery): LogPage {
    const wanted = text.toLowerCase();
    const isWanted = (line: KeptLine) =>
      line.level >= LOG_LEVELS[level] &&
      (wanted === "" || line.text.toLowerCase().includes(wanted));
    const kept = this.#lines.slice(this.#first);
    const found = kept.filter((line) => line.number > (after ?? 0) && isWanted(line));
    const shown = after === null ? found.slice(-limit) : found.slice(0, limit);
    const isWhole = after === null || found.length <= limit;
    return {
      lines: shown.map(({ number, text: own }) => ({ number, text: own })),
      last: isWhole ? this.#count : (shown.at(-1)?.number ?? this.#count),
      dropped: this.#count - kept.length,
    };
  }
}

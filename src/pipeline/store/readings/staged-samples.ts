import { setImmediate as immediate } from "node:timers/promises";
import type { PendingReading, PendingWaveform } from "./pending-response.ts";
import type { ReadingLogParts } from "./reading-log-parts.ts";

/** Samples per transaction: as many as a slow card accepts without blocking the loop. */
const SLICE_BYTES = 512 << 10;

/** The samples of a large response that are written before it is committed, so that memory does not hold them. */
export class StagedSamples {
  readonly #parts: Pick<ReadingLogParts, "queue" | "waveforms">;
  readonly #stream: number;
  readonly #fileIds: number[] = [];

  constructor(parts: Pick<ReadingLogParts, "queue" | "waveforms">, stream: number) {
    this.#parts = parts;
    this.#stream = stream;
  }

  /** Writes them in small transactions. The response's commit takes them over. */
  async write(readings: readonly PendingReading[], isOver: () => boolean): Promise<void> {
    let slice: [PendingReading, PendingWaveform][] = [];
    let bytes = 0;
    for (const reading of readings) {
      for (const waveform of reading.waveforms) {
        if (waveform.samples === null) continue;
        slice.push([reading, waveform]);
        bytes += waveform.samples.length;
        if (bytes < SLICE_BYTES) continue;
        await this.#writeAhead(slice);
        slice = [];
        bytes = 0;
        await immediate();
        if (isOver()) return this.discard();
      }
    }
    await this.#writeAhead(slice);
    // It was given up while a lock of another program was waited for.
    if (isOver()) this.discard();
  }

  async #writeAhead(slice: readonly (readonly [PendingReading, PendingWaveform])[]): Promise<void> {
    if (slice.length === 0) return;
    const { queue, waveforms } = this.#parts;
    await queue.soon("store samples", () => {
      for (const [reading, waveform] of slice) {
        waveforms.insert(this.#stream, reading, waveform);
        if (waveform.fileId !== null) waveforms.stage(waveform.fileId);
      }
    });
    for (const [, waveform] of slice) {
      waveform.samples = null;
      if (waveform.fileId !== null) this.#fileIds.push(waveform.fileId);
    }
  }

  /** Removes them, a few at a time; what a full disk leaves behind is removed at the next start. */
  discard(): void {
    const { queue, waveforms } = this.#parts;
    const staged = this.#fileIds.splice(0);
    if (staged.length === 0) return;
    const removing = queue.enqueue(
      {
        what: "remove samples of an unfinished response",
        rows: staged.length,
        *run() {
          for (const fileId of staged) {
            waveforms.deleteStaged(fileId);
            yield;
          }
        },
      },
      1000,
    );
    removing.catch(() => {});
  }
}

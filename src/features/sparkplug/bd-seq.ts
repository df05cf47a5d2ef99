import type { Runtime } from "../../core/ports.ts";

const BDSEQ_COUNT = 256;
/** A bdSeq that could not be stored is tried again after this long, ms. */
const SAVE_AGAIN_MS = 5_000;

/** Where the bdSeq of the last CONNECT is stored across restarts. */
export interface BdSeqStore {
  load(): number | null;
  save(bdSeq: number): void;
}

/** The number of the birth and death of each session: one more than the last, also after a restart. */
export class BdSeq {
  readonly #parts: Runtime & { readonly bdSeq: BdSeqStore };
  #current: number | null = null;
  /** The number in use could not be stored, and is tried again. */
  #isOwed = false;

  constructor(parts: Runtime & { readonly bdSeq: BdSeqStore }) {
    this.#parts = parts;
  }

  /** @param isUnused no CONNECT with the last one was sent */
  next(isUnused: boolean): number {
    if (isUnused && this.#current !== null) return this.#current;
    const last = this.#current ?? this.#parts.bdSeq.load() ?? -1;
    this.#current = (last + 1) % BDSEQ_COUNT;
    return this.#current;
  }

  /** It is in use. */
  save(): void {
    const bdSeq = this.#current;
    if (bdSeq === null) return;
    try {
      this.#parts.bdSeq.save(bdSeq);
      this.#isOwed = false;
    } catch (err) {
      // A full disk must not keep the node offline; only a restart would repeat the number.
      if (!this.#isOwed)
        this.#parts.logger.warn({ err, bdSeq }, "bdSeq could not be stored; trying again");
      this.#isOwed = true;
    }
  }

  /** As soon as there is room again. */
  async saveOwed(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#parts.clock.sleep(SAVE_AGAIN_MS, signal);
      if (this.#isOwed) this.save();
    }
  }
}

import type { WantedRecords } from "../../core/ports.ts";

/** Days requested by a person: each is read once in the normal way, and no reading is stored twice. */
export class BackfillJob {
  readonly total: number;
  /** Stored records that are needed once more; null: only new ones. */
  readonly wanted: WantedRecords | null;
  #done = 0;
  #stored = 0;
  #known = 0;
  readonly #failures: string[] = [];
  #finish: () => void = () => {};
  /** Resolves when every day was read or abandoned. */
  readonly finished: Promise<void>;

  constructor(total: number, wanted: WantedRecords | null = null) {
    this.total = total;
    this.wanted = wanted;
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
    if (total === 0) this.#finish();
  }

  get done(): number {
    return this.#done;
  }
  /** New readings stored. */
  get stored(): number {
    return this.#stored;
  }
  /** Records that were already stored. */
  get known(): number {
    return this.#known;
  }
  /** One line per day that could not be read. */
  get failures(): readonly string[] {
    return this.#failures;
  }

  /** One day of one sensor and kind is finished; `failure` null if it was read. */
  settle(stored: number, known: number, failure: string | null): void {
    this.#done += 1;
    this.#stored += stored;
    this.#known += known;
    if (failure !== null) this.#failures.push(failure);
    if (this.#done >= this.total) this.#finish();
  }
}

interface Requested {
  jobs: BackfillJob[];
  served: BackfillJob[];
}

/** A read begins: it serves all that wait but those that want other records than the first of them. */
export function serveJobs(task: Requested): void {
  const { wanted } = wantedOf(task.jobs);
  const isServed = (job: BackfillJob) => job.wanted === null || job.wanted === wanted;
  task.served = task.jobs.filter(isServed);
  task.jobs = task.jobs.filter((job) => !isServed(job));
}

/** @param end what the read stored and knew, or why the day was not read */
export function settleJobs(
  jobs: readonly BackfillJob[],
  end: { readonly stored: number; readonly known: number } | string,
): void {
  for (const job of jobs) {
    if (typeof end === "string") job.settle(0, 0, end);
    else job.settle(end.stored, end.known, null);
  }
}

/** As a part of the request. */
export function wantedOf(jobs: readonly BackfillJob[]): { readonly wanted?: WantedRecords } {
  const wanted = jobs.find((job) => job.wanted !== null)?.wanted ?? null;
  return wanted === null ? {} : { wanted };
}

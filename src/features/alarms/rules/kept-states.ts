/**
 * States by normalised sensor code as the running transaction leaves them, and their texts on disk: loads them, and says
 * what a transaction must write. Whoever changes a state neither compares nor saves it.
 */
import { normalCode } from "../../../core/sensor.ts";
import { type Tx, TxMap } from "../../../core/tx.ts";
import type { FollowUp } from "./follow-up.ts";

export interface StateForm<S> {
  /** Before the code, in the store. */
  readonly prefix: string;
  /** Throws if the text is damaged. */
  readonly load: (text: string) => S;
  /** Null if there is nothing to keep. */
  readonly save: (state: S) => string | null;
  /** True if both surely have the same text: cheaper than comparing texts. */
  readonly isSame?: (before: S, now: S) => boolean;
}

/** As the store holds it. */
export interface SavedState {
  readonly sensor: string;
  readonly text: string;
}

/** What one transaction has changed. */
interface Changed<S> {
  /** As it found them. */
  readonly before: Map<string, S | undefined>;
  /** Since it was last asked what to write. */
  readonly unwritten: Set<string>;
}

export class KeptStates<S> {
  readonly #form: StateForm<S>;
  readonly #states = new TxMap<string, S>();
  readonly #texts = new TxMap<string, string | null>();
  #revision = 0;
  /** By code: the revision of its last change. */
  readonly #changedAt = new Map<string, number>();
  /** What is older may have changed, whatever code it has. */
  #replacedAt = 0;

  constructor(form: StateForm<S>) {
    this.#form = form;
  }

  /** Forgets everything: what the store holds follows, by `restore`. */
  clear(): void {
    this.replaced();
    this.#states.clear();
    this.#texts.clear();
  }

  /** Sets one state as the store holds it. Returns its code if the text cannot be read, else null. */
  restore({ sensor, text }: SavedState): string | null {
    const { prefix, load } = this.#form;
    const code = normalCode(sensor.slice(prefix.length));
    try {
      this.#states.set(code, load(text));
      this.#texts.set(code, text);
      return null;
    } catch {
      return code;
    }
  }

  /** All texts, for a store that was recreated and lost some of them. */
  saved(): FollowUp["states"] {
    return [...this.#texts].map(([code, text]) => ({ sensor: this.#form.prefix + code, text }));
  }

  /** Another number after any change, and after one that was taken back. */
  get revision(): number {
    return this.#revision;
  }

  /** The codes that have changed since a revision; null: any may have. */
  changedSince(revision: number): ReadonlySet<string> | null {
    if (revision < this.#replacedAt) return null;
    if (revision === this.#revision) return new Set();
    return new Set([...this.#changedAt].flatMap(([code, at]) => (at > revision ? [code] : [])));
  }

  /** What all states are judged by is another one. */
  replaced(): void {
    this.#revision += 1;
    this.#replacedAt = this.#revision;
    this.#changedAt.clear();
  }

  #changedNow(code: string): void {
    this.#revision += 1;
    this.#changedAt.set(code, this.#revision);
  }

  /** The sensors with remembered state. */
  codes(): ReadonlySet<string> {
    return new Set(this.#states.keys());
  }

  protected all(): Iterable<[code: string, state: S]> {
    return this.#states;
  }

  get(code: string): S | undefined {
    return this.#states.get(code);
  }

  /** Outside any transaction: read back from the store. */
  set(code: string, state: S): void {
    this.#changedNow(code);
    this.#states.set(code, state);
  }

  change(tx: Tx, code: string, state: S): void {
    this.touch(tx, code);
    this.#states.change(tx, code, state);
  }

  /** The state may be changed in place from now on: it is one that this transaction has set. */
  protected touch(tx: Tx, code: string): void {
    const { before, unwritten } = this.#changed(tx);
    this.#changedNow(code);
    if (!before.has(code)) before.set(code, this.#states.get(code));
    unwritten.add(code);
  }

  /** What has changed since the transaction was last asked: each text is written once. */
  changes(tx: Tx): FollowUp["states"] {
    const { before, unwritten } = this.#changed(tx);
    const states = [...unwritten].flatMap((code) => {
      const state = this.#states.get(code);
      const former = before.get(code);
      const isSame = former && state && this.#form.isSame?.(former, state);
      if (state === undefined || isSame) return [];
      const text = this.#form.save(state);
      if (text === (this.#texts.get(code) ?? null)) return [];
      this.#texts.change(tx, code, text);
      return [{ sensor: this.#form.prefix + code, text }];
    });
    unwritten.clear();
    return states;
  }

  protected unwritten(tx: Tx): Iterable<string> {
    return this.#changed(tx).unwritten;
  }

  #changed(tx: Tx): Changed<S> {
    return tx.draft(this.#states, () => {
      const before = new Map<string, S | undefined>();
      tx.onRollback(() => {
        for (const code of before.keys()) this.#changedNow(code);
      });
      return { before, unwritten: new Set() };
    });
  }
}

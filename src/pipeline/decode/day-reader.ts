/** From the bytes of a response to its records. In one file: hashing, walking and decoding are one pass over the same bytes. */
import { SNIPPET_BYTES, snippetOf } from "../../core/failure.ts";
import type { RawRecord, Reject } from "../../core/record.ts";
import type { PolledKind } from "../../core/sensor.ts";
import { ENVELOPE, READ_OPERATIONS } from "../wire/names.ts";
import type { WireNames } from "../wire/wire-names.ts";
import { AnswerText } from "./answer-text.ts";
import { asBuffer, ByteWindow } from "./byte-window.ts";
import { type Checkpoint, readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
import { EnvelopeWalker } from "./envelope-walker.ts";
import type { ByteHashing, Hasher } from "./hashing.ts";
import { isSpace, NESTING_MAX } from "./json-text.ts";
import { RECORD_BOUNDS, type RecordBounds } from "./record-bounds.ts";
import { RecordDecoder } from "./record-decoder.ts";
import { Oddities } from "./scalars.ts";

/*
 * Reads one response of a read operation: a sensor's whole day so far, which the gateway sends from its start at
 * every poll.
 *
 *   |<------------- known prefix ------------->|<--- tail --->|
 *   [{"Configs":[],"Key":{…},"Value":[{…},{…},…,{…}            ,{…}]}]
 *                                               ^ checkpoint: bytes, hash and the walker's place
 *
 * The prefix is hashed and dropped without being parsed; the tail is parsed only if the hash matches the checkpoint.
 * Records of the prefix are known, because a checkpoint is returned only for a complete response in which every Key
 * is 0, and the caller stores it together with the readings. After `prefix_changed` and `prefix_short`, the caller reads again without a
 * checkpoint.
 */

/** Limits of services section 5 "Parsing". */
export interface DayLimits extends RecordBounds {
  readonly recordBytesMax: number;
  readonly recordsMax: number;
}
const DAY_LIMITS: DayLimits = {
  ...RECORD_BOUNDS,
  recordBytesMax: 16 * 1024 * 1024,
  recordsMax: 200_000,
};

export interface DayReaderOptions {
  readonly kind: PolledKind;
  readonly names: WireNames;
  readonly hashing: ByteHashing;
  /** From an earlier DayResult of the same sensor, kind and day; null reads everything. */
  readonly checkpoint: string | null;
  /** Hashes (`DayItem.bytesHash`) of stored records: those are skipped without decoding. */
  readonly isKnownBytes?: ((bytesHash: bigint) => boolean) | null;
  readonly limits?: Partial<DayLimits>;
  /** Removes secrets from displayed parts of the response. */
  readonly redact?: (text: string) => string;
}

/** A record, or the reason why one element of Value is not. `bytesHash` is of its bytes as received. */
export type DayItem =
  | { readonly record: RawRecord; readonly bytesHash: bigint }
  | { readonly reject: Reject; readonly bytesHash: bigint };

interface Common {
  /** Tolerated deviations by name, with their counts. */
  readonly oddities: Readonly<Record<string, number>>;
  /** True if a Key that is not 0 was read: nothing in this response may be used. */
  readonly sawNonZeroKey: boolean;
  /** Records that `isKnownBytes` recognised. */
  readonly known: number;
}

/**
 * How a response ended. Items count only with `complete` (the caller may relax this for truncated responses: services
 * section 5).
 */
export type DayResult = Common &
  (
    | {
        readonly outcome: "complete";
        /** For the next read of this day; null if the day has no records. */
        readonly checkpoint: string | null;
        /** Records of the day, including those of the known prefix. */
        readonly records: number;
        /** True if the response contained nothing beyond the checkpoint: there is nothing to store. */
        readonly unchanged: boolean;
      }
    | {
        readonly outcome: "service_status";
        readonly statusNumber: number;
        readonly description: string;
      }
    | { readonly outcome: "truncated" }
    | { readonly outcome: "not_json"; readonly snippet: string }
    | { readonly outcome: "malformed"; readonly detail: string }
    /** The known prefix has changed: read again with checkpoint null. */
    | { readonly outcome: "prefix_changed" }
    /** It ended within the known prefix: it is truncated, or the day has shrunk. Read again with checkpoint null, too. */
    | { readonly outcome: "prefix_short" }
    | { readonly outcome: "too_large"; readonly detail: string }
  );

/** Receives the bytes of one response and returns its records; never reads by itself, holds one record at a time. */
export class DayReader {
  readonly #options: DayReaderOptions;
  readonly #limits: DayLimits;
  readonly #reading: string;
  readonly #text = new AnswerText();
  readonly #walker: EnvelopeWalker;
  /** Made for the first record that is not known. */
  #decoder: RecordDecoder | null = null;
  readonly #hasher: Hasher;
  readonly #oddities = new Oddities();
  readonly #window = new ByteWindow();
  /** Prefix still being hashed; null once the walker is active. */
  #prefix: Checkpoint | null;
  readonly #resumed: Checkpoint | null;
  #prefixChanged = false;
  /** Offset in the response of the first byte of the window. */
  #windowAt = 0;
  /** Offset in the response up to which bytes were hashed. */
  #hashedTo = 0;
  #items: DayItem[] = [];
  #first: { bytes: number; hash: bigint } | null = null;
  #last: { bytes: number; place: string } | null = null;
  #lastHash: bigint | null = null;
  #records = 0;
  #known = 0;
  #isForgetting = false;
  #tooLarge: string | null = null;
  #isStopped = false;
  #start = Buffer.alloc(0);

  constructor(options: DayReaderOptions) {
    const { kind, names, hashing, checkpoint } = options;
    this.#options = options;
    this.#limits = { ...DAY_LIMITS, ...options.limits };
    this.#reading = `${kind} ${names.word}`;
    const operation = READ_OPERATIONS[kind];
    this.#walker = new EnvelopeWalker({
      onItem: (bytes, start, end, nesting) => this.#takeItem(bytes, start, end, nesting),
      oddities: this.#oddities,
      wrapperNames: [operation, names.wire(operation)].map((name) =>
        `${name}${ENVELOPE.resultSuffix}`.toLowerCase(),
      ),
    });
    this.#hasher = hashing.createHasher();
    const known = checkpoint === null ? null : readCheckpoint(checkpoint, this.#reading);
    const canResume = known !== null && this.#walker.restore(known.place);
    this.#resumed = canResume ? known : null;
    this.#prefix = this.#resumed;
  }

  /** True once more bytes cannot change the result: the caller may stop receiving. */
  get isOver(): boolean {
    return this.#isStopped || this.#prefixChanged;
  }

  /** Bytes at the start of the response that are hashed and dropped as long as they are the known ones; 0 if none are known. */
  get prefixBytes(): number {
    return this.#resumed?.bytes ?? 0;
  }

  /** Bytes of an unfinished record that are held. */
  get heldBytes(): number {
    return this.#window.keptBytes;
  }

  /** Takes the next bytes and returns the items they complete, in wire order. The bytes are not kept. */
  push(piece: Uint8Array): DayItem[] {
    this.#collectStart(piece);
    if (this.isOver) return [];
    this.#take(this.#text.push(piece));
    const items = this.#items;
    this.#items = [];
    return items;
  }

  #take(answer: Uint8Array): void {
    if (answer.length === 0) return;
    const bytes = this.#prefix === null ? answer : this.#hashPrefix(answer);
    if (bytes.length > 0) this.#walk(bytes);
  }

  /** The response has ended, normally or not. */
  end(): DayResult {
    if (!this.isOver) this.#take(this.#text.rest());
    if (this.#text.isText) this.#oddities.add("answer_in_text");
    const { verdict } = this.#walker;
    const common: Common = {
      oddities: this.#oddities.counts,
      sawNonZeroKey: verdict?.outcome === "service_status",
      known: this.#known,
    };
    if (this.#prefixChanged) return { ...common, outcome: "prefix_changed" };
    // A day that shrank ends inside the prefix; so does a truncated one, and reading again shows which.
    if (this.#prefix !== null) {
      return { ...common, outcome: this.#hashedTo === 0 ? "truncated" : "prefix_short" };
    }
    if (verdict?.outcome === "not_json") {
      return { ...common, ...verdict, snippet: snippetOf(this.#start, this.#options.redact) };
    }
    if (verdict?.outcome === "malformed") {
      const { redact = (text) => text } = this.#options;
      return { ...common, ...verdict, detail: redact(verdict.detail) };
    }
    if (verdict) return { ...common, ...verdict };
    if (this.#tooLarge !== null) {
      return { ...common, outcome: "too_large", detail: this.#tooLarge };
    }
    if (!this.#walker.isComplete) return { ...common, outcome: "truncated" };
    return {
      ...common,
      outcome: "complete",
      checkpoint: this.#checkpoint(),
      records: this.#records,
      unchanged:
        this.#last === null && (this.#resumed !== null || this.#options.checkpoint === null),
    };
  }

  /** Hashes the bytes of the prefix; returns those after it. */
  #hashPrefix(piece: Uint8Array): Uint8Array {
    const prefix = this.#prefix;
    if (prefix === null) return piece;
    let rest = piece;
    if (this.#hashedTo < prefix.firstBytes) {
      rest = this.#hashUpTo(prefix.firstBytes, rest);
      if (this.#hashedTo < prefix.firstBytes) return rest;
      if (this.#hasher.digest() !== prefix.firstHash) return this.#missPrefix();
    }
    rest = this.#hashUpTo(prefix.bytes, rest);
    if (this.#hashedTo < prefix.bytes) return rest;
    if (this.#hasher.digest() !== prefix.hash) return this.#missPrefix();
    this.#prefix = null;
    this.#windowAt = prefix.bytes;
    this.#records = prefix.records;
    this.#first = { bytes: prefix.firstBytes, hash: prefix.firstHash };
    return rest;
  }

  #hashUpTo(offset: number, piece: Uint8Array): Uint8Array {
    const count = Math.min(offset - this.#hashedTo, piece.length);
    this.#hasher.update(count === piece.length ? piece : piece.subarray(0, count));
    this.#hashedTo += count;
    return piece.subarray(count);
  }

  #missPrefix(): Uint8Array {
    this.#prefixChanged = true;
    return new Uint8Array(0);
  }

  #walk(piece: Uint8Array): void {
    const bytes = this.#window.join(piece);
    let from = this.#walker.walk(bytes, 0, bytes.length);
    if (this.#walker.verdict !== null) this.#isStopped = true;
    if (this.#isStopped) return;
    if (bytes.length - from > this.#limits.recordBytesMax) {
      if (!this.#walker.isInsideItem) return this.#stop("a part of the envelope");
      this.#isForgetting = true;
    }
    if (this.#isForgetting) {
      this.#walker.forgetItem(bytes, from, bytes.length);
      from = bytes.length;
    }
    this.#hashWalked(bytes, from);
    this.#window.keep(bytes, from);
    this.#windowAt += from;
  }

  /** All bytes that leave the window are hashed, with one digest at the end of the last record among them. */
  #hashWalked(bytes: Buffer, until: number): void {
    if (this.#last !== null && this.#last.bytes > this.#hashedTo) {
      this.#hashSpan(bytes, this.#last.bytes);
      this.#lastHash = this.#hasher.digest();
    }
    this.#hashSpan(bytes, this.#windowAt + until);
  }

  #hashSpan(bytes: Buffer, offset: number): void {
    if (offset <= this.#hashedTo) return;
    this.#hasher.update(bytes.subarray(this.#hashedTo - this.#windowAt, offset - this.#windowAt));
    this.#hashedTo = offset;
  }

  #takeItem(bytes: Buffer, start: number, end: number, nesting: number): void {
    if (bytes[start] === OPEN_ARRAY && isEmptyArray(bytes, start, end)) return; // `[[]]` is no record.
    if (this.#records === this.#limits.recordsMax) {
      return this.#stop(`more than ${this.#limits.recordsMax} records`);
    }
    this.#records += 1;
    this.#last = { bytes: this.#windowAt + end, place: this.#walker.snapshot() };
    if (this.#first === null) {
      this.#hashSpan(bytes, this.#last.bytes);
      this.#first = { bytes: this.#last.bytes, hash: this.#hasher.digest() };
      this.#lastHash = this.#first.hash;
    }
    if (this.#isForgetting || end - start > this.#limits.recordBytesMax) {
      this.#isForgetting = false;
      const detail = `more than ${this.#limits.recordBytesMax} bytes`;
      this.#tooLarge = `a record of ${detail}`;
      this.#items.push({ reject: { reason: "record_too_large", detail }, bytesHash: 0n });
      return;
    }
    const raw = bytes.subarray(start, end);
    const bytesHash = this.#options.hashing.hash(raw);
    if (this.#options.isKnownBytes?.(bytesHash)) {
      this.#known += 1;
      return;
    }
    const decoded = this.#decode(bytes, start, end, nesting);
    this.#items.push(
      "reason" in decoded ? { reject: decoded, bytesHash } : { record: decoded, bytesHash },
    );
  }

  #decode(bytes: Buffer, start: number, end: number, nesting: number): RawRecord | Reject {
    if (bytes[start] !== OPEN_OBJECT) {
      return {
        reason: "not_an_object",
        detail: snippetOf(bytes.subarray(start, end), this.#options.redact),
      };
    }
    if (nesting > NESTING_MAX) {
      return { reason: "malformed", detail: `nested deeper than ${NESTING_MAX}` };
    }
    const { kind, names } = this.#options;
    this.#decoder ??= new RecordDecoder(kind, names, this.#oddities, this.#limits);
    return this.#decoder.decode(bytes, start, end);
  }

  #checkpoint(): string | null {
    if (this.#last === null) {
      return this.#resumed === null ? null : writeCheckpoint(this.#resumed, this.#reading);
    }
    if (this.#first === null || this.#lastHash === null) return null;
    const checkpoint: Checkpoint = {
      bytes: this.#last.bytes,
      hash: this.#lastHash,
      firstBytes: this.#first.bytes,
      firstHash: this.#first.hash,
      records: this.#records,
      place: this.#last.place,
    };
    return writeCheckpoint(checkpoint, this.#reading);
  }

  #stop(detail: string): void {
    this.#tooLarge = detail;
    this.#isStopped = true;
  }

  #collectStart(piece: Uint8Array): void {
    if (this.#start.length >= SNIPPET_BYTES) return;
    const more = asBuffer(piece).subarray(0, SNIPPET_BYTES - this.#start.length);
    this.#start = Buffer.concat([this.#start, more]);
  }
}

const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;

function isEmptyArray(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start + 1; at < end - 1; at += 1) if (!isSpace(bytes[at] ?? 0)) return false;
  return true;
}

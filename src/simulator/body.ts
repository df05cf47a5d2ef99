import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import type { Clock } from "../core/ports.ts";
import { aborted } from "../lib/aborted.ts";
import type { Piece } from "./envelope.ts";
import type { ActiveFault, FaultSet } from "./faults.ts";
import { chance } from "./random.ts";
import type { FaultyItem } from "./record-faults.ts";

/** Smaller responses have a Content-Length, larger ones are chunked, as the service's buffering does it. */
const BUFFERED_BYTES_MAX = 65_536;
/** A fault inside a body strikes within this much of it. */
const STRIKE_BYTES_MAX = 262_144;
const RESET_PAUSE_MS = 10;

interface Chunk {
  readonly bytes: Buffer;
  readonly items: readonly FaultyItem[];
}

export interface BodyDelivery {
  /** True if the whole body was passed to the connection unaltered. */
  readonly isComplete: boolean;
  /** Records that may have arrived. */
  readonly items: readonly FaultyItem[];
}

/** Collects pieces into chunks of bytes, encoded as the faults require. */
function* chunksOf(pieces: Iterable<Piece>, faults: FaultSet): Generator<Chunk> {
  const encoding = faults.has("utf16") ? "utf16le" : "utf8";
  let text = encoding === "utf16le" || faults.has("bom") ? "\ufeff" : "";
  let items: FaultyItem[] = [];
  for (const piece of pieces) {
    text += piece.text;
    if (piece.item) items.push(piece.item);
    if (text.length < BUFFERED_BYTES_MAX) continue;
    yield { bytes: Buffer.from(text, encoding), items };
    text = "";
    items = [];
  }
  if (text !== "") yield { bytes: Buffer.from(text, encoding), items };
}

/** Compressed bytes no longer show where a record ends: all count with the first chunk. */
async function* gzipped(chunks: Generator<Chunk>): AsyncGenerator<Chunk> {
  const items: FaultyItem[] = [];
  function* source() {
    for (const chunk of chunks) {
      for (const item of chunk.items) items.push(item);
      yield chunk.bytes;
    }
  }
  const gzip: AsyncIterable<Buffer> = Readable.from(source()).pipe(createGzip());
  for await (const bytes of gzip) yield { bytes, items: items.splice(0) };
}

export interface BodyParts {
  readonly response: ServerResponse;
  readonly clock: Clock;
  /** Aborted when the connection or the simulator closes. */
  readonly signal: AbortSignal;
}

/** Sends a body with back-pressure: memory holds one chunk of a day of any size. */
export async function sendBody(
  pieces: Iterable<Piece>,
  faults: FaultSet,
  isGzip: boolean,
  parts: BodyParts,
): Promise<BodyDelivery> {
  const { response } = parts;
  const chunks = isGzip ? gzipped(chunksOf(pieces, faults)) : chunksOf(pieces, faults);
  if (isGzip) response.setHeader("Content-Encoding", "gzip");
  const strike = (["cut", "reset", "silence", "length-larger", "length-smaller"] as const)
    .map((name) => faults.get(name))
    .find((fault) => fault !== undefined);
  const iterator = iterate(chunks);
  const head: Chunk[] = [];
  let headBytes = 0;
  let isWhole = false;
  const gatherMax = strike ? STRIKE_BYTES_MAX : BUFFERED_BYTES_MAX;
  while (headBytes < gatherMax) {
    const next = await iterator.next();
    if (next.done) {
      isWhole = true;
      break;
    }
    head.push(next.value);
    headBytes += next.value.bytes.length;
  }
  const gathered = Buffer.concat(head.map((chunk) => chunk.bytes));
  const items = head.flatMap((chunk) => [...chunk.items]);
  if (strike) return strikeBody(gathered, items, isWhole, strike, faults, parts);
  const delivered: FaultyItem[] = items;
  if (isWhole) response.setHeader("Content-Length", gathered.length);
  if (!(await write(gathered, faults, parts))) return { isComplete: false, items: delivered };
  while (!isWhole) {
    const next = await iterator.next();
    if (next.done) break;
    for (const item of next.value.items) delivered.push(item);
    if (!(await write(next.value.bytes, faults, parts)))
      return { isComplete: false, items: delivered };
  }
  const isComplete = await new Promise<boolean>((resolve) => {
    response.once("close", () => resolve(response.writableFinished));
    response.end(() => resolve(true));
  });
  return { isComplete, items: delivered };
}

function iterate(chunks: Generator<Chunk> | AsyncGenerator<Chunk>) {
  return { next: async () => chunks.next() };
}

async function strikeBody(
  gathered: Buffer,
  items: readonly FaultyItem[],
  isWhole: boolean,
  strike: ActiveFault,
  faults: FaultSet,
  parts: BodyParts,
): Promise<BodyDelivery> {
  const { response, signal } = parts;
  const { name, fraction } = strike.spec;
  const total = gathered.length;
  const share = fraction ?? 0.05 + 0.9 * chance(strike.seed, strike.hits, 1);
  const isCut = name === "cut" || name === "reset" || name === "silence";
  const sent = isCut ? gathered.subarray(0, Math.max(1, Math.floor(total * share))) : gathered;
  if (name === "length-larger") response.setHeader("Content-Length", total + 1000);
  else if (name === "length-smaller")
    response.setHeader("Content-Length", total - Math.min(37, total >> 1));
  else if (isWhole) response.setHeader("Content-Length", total);
  await write(sent, faults, parts);
  if (name === "silence") {
    await aborted(signal);
  } else if (name === "reset") {
    // A reset that overtakes earlier bytes would look like an end to some clients.
    await new Promise((resolve) => setTimeout(resolve, RESET_PAUSE_MS));
    // A client in this process that was held up reads them now.
    await new Promise((resolve) => setImmediate(resolve));
    response.socket?.resetAndDestroy();
  } else response.socket?.end();
  return { isComplete: false, items };
}

/** False if the connection closed before the bytes were sent. */
async function write(bytes: Buffer, faults: FaultSet, parts: BodyParts): Promise<boolean> {
  const drip = faults.get("drip");
  if (!drip) return writeOut(bytes, parts);
  const step = Math.max(1, drip.spec.bytes ?? 16);
  for (let at = 0; at < bytes.length; at += step) {
    if (!(await writeOut(bytes.subarray(at, at + step), parts))) return false;
    await parts.clock.sleep(drip.spec.ms ?? 1000, parts.signal);
  }
  return !parts.signal.aborted;
}

function writeOut(bytes: Buffer, { response, signal }: BodyParts): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted || response.destroyed) return resolve(false);
    const gone = () => resolve(false);
    signal.addEventListener("abort", gone, { once: true });
    response.write(bytes, (error) => {
      signal.removeEventListener("abort", gone);
      resolve(!error);
    });
  });
}

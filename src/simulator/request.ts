import type { IncomingMessage } from "node:http";
import { isJsonObject } from "../core/record.ts";
import { wireName } from "./wire-writer.ts";

const BODY_BYTES_MAX = 1_048_576;

/** An invalid request: an HTML page with this status. */
export class BadRequest extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export async function readText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  const body: AsyncIterable<Buffer> = request;
  for await (const part of body) {
    size += part.length;
    if (size > BODY_BYTES_MAX) throw new BadRequest(413, "Request Entity Too Large");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** The fields of a request as a data contract would bind them: names case-sensitive, absent numbers 0. */
export class RequestFields {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #word: string;
  readonly #isStrict: boolean;

  /** Throws BadRequest if the text is not a JSON object. */
  constructor(text: string, word: string, isStrict: boolean) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      value = null;
    }
    if (!isJsonObject(value)) {
      throw new BadRequest(400, "Request Error");
    }
    this.#fields = value;
    this.#word = word;
    this.#isStrict = isStrict;
  }

  #get(name: string): unknown {
    const wire = wireName(name, this.#word);
    return Object.hasOwn(this.#fields, wire) ? this.#fields[wire] : undefined;
  }

  has(name: string): boolean {
    const value = this.#get(name);
    return value !== undefined && value !== null;
  }

  number(name: string): number {
    const value = this.#get(name);
    if (value === undefined || value === null) return 0;
    if (typeof value === "number") return value;
    const isText = typeof value === "string" && value.trim() !== "" && !this.#isStrict;
    const number = isText ? Number(value) : Number.NaN;
    if (Number.isNaN(number)) throw new BadRequest(400, `${name} is not a number`);
    return number;
  }

  integer(name: string): number {
    const value = this.number(name);
    if (!Number.isInteger(value)) throw new BadRequest(400, `${name} is not an integer`);
    return value;
  }

  /** The sensor named by a request, before the type that its operation expects is known. */
  sensor(name: string): string {
    const value = this.#get(name);
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  }

  text(name: string): string | null {
    const value = this.#get(name);
    if (value === undefined || value === null) return null;
    if (typeof value === "string") return value;
    if (typeof value === "number" && !this.#isStrict) return String(value);
    throw new BadRequest(400, `${name} is not text`);
  }
}

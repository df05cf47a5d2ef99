import { CallFailure, classOfHttpStatus, snippetOf } from "../../core/failure.ts";
import { parsedJson } from "../../core/parsed-json.ts";
import { headerText, retryAfter } from "../../lib/response-headers.ts";
import type { SecretGate } from "../../lib/secrets.ts";
import { type Outcome, readOutcome } from "../decode/outcome.ts";
import { decodedBody } from "./decoded-body.ts";
import type { ExchangeHead } from "./exchange.ts";

/** Responses of settings operations, and error pages, are far smaller. */
export const SMALL_BODY_BYTES_MAX = 1_048_576;
const SNIPPET_BYTES = 4_096;
/** How much of a service's own text is shown, characters. */
const DESCRIPTION_MAX = 500;

/** Reads small responses and errors, and describes them in text that contains none of our secrets. */
export class ResponseWords {
  readonly #gate: SecretGate;

  constructor(gate: SecretGate) {
    this.#gate = gate;
  }

  /** The status of a 2xx response; throws a CallFailure if it has none. */
  async outcome(head: ExchangeHead): Promise<Outcome> {
    const bytes = await whole(decodedBody(head, SMALL_BODY_BYTES_MAX));
    try {
      const outcome = readOutcome(bytes);
      if (outcome) {
        const description = this.#gate.redact(outcome.description);
        return { ...outcome, description: description.slice(0, DESCRIPTION_MAX) };
      }
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
    const isEmpty = bytes.length === 0;
    const error = this.#error(bytes);
    const said = error === null ? "" : `: ${error}`;
    throw new CallFailure({
      message: isEmpty ? "the response is empty" : `the response contains no outcome${said}`,
      failureClass: isEmpty ? "truncated" : "not_json",
      snippet: this.#snippet(bytes),
    });
  }

  /** The failure for a response other than 2xx; `nowMs` is the wall clock, for Retry-After. */
  async refusal(head: ExchangeHead, nowMs: number): Promise<CallFailure> {
    const { status, headers } = head;
    const start = await firstBytes(decodedBody(head, SMALL_BODY_BYTES_MAX), SNIPPET_BYTES);
    const snippet = this.#snippet(start);
    // Only the text of a web server's page; its HTML would fill the line.
    const words =
      this.#error(start) ??
      snippet
        .replace(/<[^>]*(>|$)/g, " ")
        .replace(/\s+/g, " ")
        .trim();
    const location = headerText(headers, "location");
    const isRedirect = status >= 300 && status < 400;
    if (status === 401 && isWindowsOnly(headers)) return windowsRefusal(snippet);
    return new CallFailure({
      message: isRedirect
        ? `the gateway returned HTTP ${status}, a redirect${location ? ` to ${this.#gate.redact(location).slice(0, DESCRIPTION_MAX)}` : ""}; redirects are not followed`
        : `the gateway returned HTTP ${status}${words === "" ? "" : `: ${words}`}`,
      failureClass: classOfHttpStatus(status),
      code: isRedirect ? "redirect" : "http_status",
      httpStatus: status,
      retryAfterMs: retryAfter(headers, nowMs),
      snippet,
    });
  }

  /** The message of an error object of WCF, also of one whose trace is cut; null for anything else. */
  #error(bytes: Uint8Array): string | null {
    const text = Buffer.from(bytes.subarray(0, SNIPPET_BYTES)).toString();
    const message = /^\s*\{/.test(text) ? /"Message"\s*:\s*("(?:[^"\\]|\\.)+")/.exec(text) : null;
    const said = parsedJson(message?.[1] ?? "");
    return typeof said === "string"
      ? this.#gate.redact(said.replace(/\s+/g, " ").trim()).slice(0, DESCRIPTION_MAX)
      : null;
  }

  #snippet(bytes: Uint8Array): string {
    return snippetOf(bytes, (text) => this.#gate.redact(text));
  }
}

/** Requests are not repeated for so long: some servers lock an account after a few. */
const WINDOWS_PAUSE_MS = 60_000;

function windowsRefusal(snippet: string): CallFailure {
  return new CallFailure({
    message:
      "the gateway returned HTTP 401 and offers only Windows sign-in (Negotiate, NTLM), which the agent does not have: allow anonymous or Basic authentication for this service on the gateway's web server, and set GATEWAY_HEADERS where it wants a password",
    failureClass: "configuration",
    code: "http_status",
    httpStatus: 401,
    retryAfterMs: WINDOWS_PAUSE_MS,
    snippet,
  });
}

/** Whether each scheme that the response offers is one of Windows. */
function isWindowsOnly(headers: ExchangeHead["headers"]): boolean {
  const value = headers["www-authenticate"] ?? [];
  const parts = (Array.isArray(value) ? value : [value]).flatMap((line) => line.split(","));
  // Parameters of a scheme stand between commas too.
  const schemes = parts.map((part) => part.trim()).filter((part) => /^[\w-]+( |$)/.test(part));
  return schemes.length > 0 && schemes.every((one) => /^(negotiate|ntlm)( |$)/i.test(one));
}

async function whole(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** The start of a body, even if the rest of it fails. */
async function firstBytes(body: AsyncIterable<Uint8Array>, count: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of body) {
      pieces.push(Buffer.from(piece));
      bytes += piece.length;
      if (bytes >= count) break;
    }
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
  }
  return Buffer.concat(pieces).subarray(0, count);
}

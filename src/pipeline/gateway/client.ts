/** Calls of the gateway. In one file: what one call finds out about the gateway decides how the next one is made. */

import type { GatewayState } from "../../core/agent-status.ts";
import type { DayKey, DayRequest, DayResponse, StateRequest } from "../../core/day.ts";
import { CallFailure, type FailureClass } from "../../core/failure.ts";
import type { Clock, RecordSource, StateSource } from "../../core/ports.ts";
import { withoutTrailing } from "../../core/text/text-ends.ts";
import { AbortCallbacks } from "../../lib/abort-callbacks.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { gatewayTime, headerText } from "../../lib/response-headers.ts";
import { SecretGate } from "../../lib/secrets.ts";
import type { Outcome } from "../decode/outcome.ts";
import { READ_OPERATIONS, READ_REQUEST } from "../wire/names.ts";
import type { WireNames } from "../wire/wire-names.ts";
import { Connections } from "./connections.ts";
import { decodedBody } from "./decoded-body.ts";
import {
  CALL_DEADLINES,
  type CallDeadlines,
  Exchange,
  type ExchangeHead,
  type ExchangeRequest,
} from "./exchange.ts";
import { FailingReads } from "./failing-reads.ts";
import { ResponseWords, SMALL_BODY_BYTES_MAX } from "./response-words.ts";
import { WakeUp } from "./wake-up.ts";

/**
 * A gateway that has not been called for this long may have to be started by the call (services section 8, fault 1).
 */
const IDLE_MS = 15 * 60_000;
const WAKE_UP_FACTOR = 3;
const CONNECT_MS = 5_000;
/** With the TLS handshake. */
const CONNECT_TLS_MS = 10_000;
/** A day of a node's states, one a minute, is a tenth of this. */
const STATE_BODY_BYTES_MAX = 4_194_304;

export interface GatewayClientOptions {
  readonly url: string;
  readonly names: WireNames;
  /** Extra request headers; secret. */
  readonly headers?: Readonly<Record<string, string>>;
  /** PEM of a private CA, for https. */
  readonly ca?: () => string | null;
  /** HTTP proxy in front of the gateway, http(s)://[user:password@]host:port; secret. */
  readonly proxy?: string | null;
  /** To the first byte, ms (GATEWAY_TIMEOUT_MS). */
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly bodyBytesMax: number;
  /** Values that must not be shown, even if the service echoes them; by default its own headers. */
  readonly gate?: SecretGate;
  /** For tests. */
  readonly deadlines?: Partial<CallDeadlines>;
  readonly connectMs?: number;
}

export interface GatewayClientParts {
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** The outcome of a settings operation. Status 0 means queued. */
export interface PostResponse extends Outcome {
  readonly gatewayTimeMs: number | null;
}

export function createGatewayClient(
  parts: GatewayClientParts,
  options: GatewayClientOptions,
): GatewayClient {
  return new GatewayClient(parts, options);
}

/** The gateway's service over HTTP. */
export class GatewayClient implements RecordSource, StateSource {
  readonly #parts: GatewayClientParts;
  readonly #options: GatewayClientOptions;
  readonly #connections: Connections;
  readonly #deadlines: CallDeadlines;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #shownUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #gate: SecretGate;
  readonly #words: ResponseWords;
  readonly #aborts = new AbortCallbacks();
  readonly #failing = new FailingReads();
  readonly #wakeUp: WakeUp;
  #state: Omit<GatewayState, "url" | "isNeeded"> = {
    isUp: false,
    lastAnswerAtMs: null,
    lastError: null,
    lastErrorClass: null,
    skewMs: null,
  };

  constructor(parts: GatewayClientParts, options: GatewayClientOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#deadlines = { ...CALL_DEADLINES, ...options.deadlines };
    const url = new URL(options.url);
    this.#origin = url.origin;
    this.#basePath = withoutTrailing(url.pathname, "/");
    this.#shownUrl = `${url.origin}${this.#basePath}`;
    this.#headers = requestHeaders(options.headers ?? {});
    this.#gate = options.gate ?? new SecretGate(Object.values(options.headers ?? {}));
    this.#words = new ResponseWords(this.#gate);
    this.#wakeUp = new WakeUp(parts.clock, this.#aborts, IDLE_MS);
    this.#connections = new Connections(
      {
        origin: url.origin,
        count: options.concurrency,
        connectMs: options.connectMs ?? (url.protocol === "https:" ? CONNECT_TLS_MS : CONNECT_MS),
        ca: options.ca ?? (() => null),
        proxy: options.proxy ?? null,
      },
      this.#aborts,
    );
  }

  get state(): Omit<GatewayState, "isNeeded"> {
    return { url: this.#shownUrl, ...this.#state };
  }

  async read(request: DayRequest, signal: AbortSignal): Promise<DayResponse> {
    const { names, bodyBytesMax } = this.#options;
    const fields = {
      [READ_REQUEST.type]: request.sensor.type,
      [READ_REQUEST.code]: request.sensor.code,
      [READ_REQUEST.date]: request.date,
    };
    const key = { sensor: request.sensor.code, kind: request.kind, day: request.date };
    const operation = READ_OPERATIONS[request.kind];
    const head = await this.#call(operation, names.toWire(fields), bodyBytesMax, signal, key);
    return {
      gatewayTimeMs: gatewayTime(head.headers),
      body: this.#counted(decodedBody(head, bodyBytesMax), (error) => this.#failed(error, key)),
      cancel: () => void head.body.return(),
    };
  }

  /**
   * Its failures say nothing about the reads that collect records, so they do not change `state`: a gateway may lack
   * the operation and work.
   */
  async readState(request: StateRequest, signal: AbortSignal): Promise<DayResponse> {
    const { sensor, operation, date } = request;
    const { names, bodyBytesMax } = this.#options;
    const fields = {
      [READ_REQUEST.type]: sensor.type,
      [READ_REQUEST.code]: sensor.code,
      ...(date === null ? {} : { [READ_REQUEST.date]: date }),
    };
    const bytesMax = Math.min(STATE_BODY_BYTES_MAX, bodyBytesMax);
    try {
      const head = await this.#send(operation, names.toWire(fields), bytesMax, true, signal);
      return {
        gatewayTimeMs: gatewayTime(head.headers),
        // Its end says nothing about the gateway's state.
        body: this.#counted(decodedBody(head, bytesMax), (error) => this.#countedFailure(error)),
        cancel: () => void head.body.return(),
      };
    } catch (error) {
      throw this.#countedFailure(error);
    }
  }

  /**
   * A small operation, such as saveSettings; fields under neutral names. Resolves with any status that the service
   * returned, rejects with a CallFailure if it returned none. Never repeated here: the caller decides what a lost
   * response means.
   */
  async post(
    operation: string,
    fields: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<PostResponse> {
    const body = this.#options.names.toWire(fields);
    const head = await this.#call(operation, body, SMALL_BODY_BYTES_MAX, signal, null);
    try {
      const outcome = await this.#words.outcome(head);
      this.#parts.metrics.gatewayRequests.inc({ outcome: "ok" });
      return { ...outcome, gatewayTimeMs: gatewayTime(head.headers) };
    } catch (error) {
      throw this.#failed(error, null);
    }
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  /** One call up to the head of a 2xx response; the gateway's state records the result. Only a read, with its `key`, may be repeated. */
  async #call(
    operation: string,
    fields: Readonly<Record<string, unknown>>,
    bodyBytesMax: number,
    signal: AbortSignal,
    key: DayKey | null,
  ): Promise<ExchangeHead> {
    try {
      const head = await this.#send(operation, fields, bodyBytesMax, key !== null, signal);
      this.#noteResponse(head);
      return head;
    } catch (error) {
      throw this.#failed(error, key);
    }
  }

  async #send(
    operation: string,
    fields: Readonly<Record<string, unknown>>,
    bodyBytesMax: number,
    isRepeatable: boolean,
    signal: AbortSignal,
  ): Promise<ExchangeHead> {
    const { timeoutMs, names } = this.#options;
    const path = `${this.#basePath}/${names.gatewayPath(operation)}`;
    const body = JSON.stringify(fields);
    const result = await this.#wakeUp.pass(signal, async (isWakeUp) => {
      const firstByteMs = isWakeUp ? timeoutMs * WAKE_UP_FACTOR : timeoutMs;
      const request = { path, body, firstByteMs, bodyBytesMax, signal };
      // A connection that the gateway closed while it was idle says nothing about the gateway. A request that must not
      // be sent twice gets a new one from the start, or it would be lost on such a connection.
      const first = await this.#exchange(request, !isRepeatable);
      const isStale = first.wasReused && isLost(first.result);
      return isRepeatable && isStale ? (await this.#exchange(request, true)).result : first.result;
    });
    if (result === null) throw abortedFailure();
    if (result instanceof CallFailure) throw result;
    if (result.status < 200 || result.status > 299) {
      throw await this.#words.refusal(result, this.#parts.clock.now());
    }
    return result;
  }

  async #exchange(
    request: Pick<ExchangeRequest, "path" | "body" | "firstByteMs" | "bodyBytesMax" | "signal">,
    onNewConnection: boolean,
  ): Promise<{ result: ExchangeHead | CallFailure; wasReused: boolean }> {
    const connection = await this.#connections.borrow(request.signal);
    if (connection === null) return { result: abortedFailure(), wasReused: false };
    if (onNewConnection) await connection.drop();
    let wasReused = false;
    const exchange = new Exchange({
      ...request,
      aborts: this.#aborts,
      origin: this.#origin,
      headers: this.#headers,
      deadlines: this.#deadlines,
      now: () => this.#parts.clock.monotonic(),
      received: () => connection.received,
      flow: () => connection.flow,
      onStart: () => {
        wasReused = connection.noteRequest();
      },
      onOver: (isReusable) => {
        // A connection whose call was aborted may still carry bytes of it.
        if (!isReusable) connection.drop().catch(() => {});
        this.#connections.giveBack(connection);
      },
    });
    try {
      return { result: await exchange.send(connection.client), wasReused };
    } catch (error) {
      if (error instanceof CallFailure) return { result: error, wasReused };
      throw error;
    }
  }

  /** Counts the bytes of the body, and how it ends; `failed` makes the error of one that ends badly. */
  async *#counted(
    body: AsyncIterable<Uint8Array>,
    failed: (error: unknown) => unknown,
  ): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of body) {
        this.#parts.metrics.gatewayBytes.inc(piece.length);
        yield piece;
      }
      this.#parts.metrics.gatewayRequests.inc({ outcome: "ok" });
    } catch (error) {
      throw failed(error);
    }
  }

  #countedFailure(error: unknown): unknown {
    if (!(error instanceof CallFailure) || error.failureClass === "aborted") return error;
    this.#parts.metrics.gatewayRequests.inc({ outcome: error.failureClass });
    return this.#redacted(error);
  }

  #noteResponse(head: ExchangeHead): void {
    const { clock, metrics } = this.#parts;
    const time = gatewayTime(head.headers);
    const skewMs = time === null ? null : time - clock.now();
    this.#state = {
      isUp: true,
      lastAnswerAtMs: clock.now(),
      lastError: null,
      lastErrorClass: null,
      skewMs,
    };
    if (!/\bjson\b/i.test(headerText(head.headers, "content-type") ?? "")) {
      metrics.wireOddities.inc({ oddity: "content_type" });
    }
  }

  #failed(error: unknown, key: DayKey | null): unknown {
    if (!(error instanceof CallFailure)) return error;
    if (error.failureClass === "aborted") return error;
    const clean = this.#redacted(error);
    this.note(clean.failureClass, clean.message, key);
    return clean;
  }

  /** Texts of a peer or a library may repeat what we sent. */
  #redacted(failure: CallFailure): CallFailure {
    const message = this.#gate.redact(failure.message);
    if (message === failure.message) return failure;
    const { failureClass, code, retryAfterMs, httpStatus, statusNumber, snippet } = failure;
    return new CallFailure({
      message,
      failureClass,
      code,
      retryAfterMs,
      httpStatus,
      statusNumber,
      snippet,
    });
  }

  /** A day was read to its end and could be used. */
  noteRead(key: DayKey): void {
    this.#failing.succeeded(key);
  }

  /** Records a response that turned out to be unusable; also for callers who found that out while reading it. */
  note(failureClass: FailureClass, message: string, key: DayKey | null): void {
    const { metrics } = this.#parts;
    const isAlone = key !== null && this.#failing.failed(key);
    // A status number is a response: the gateway works, it rejected the request.
    const isUp = failureClass === "service_status" || (isAlone && this.#state.isUp);
    this.#state = {
      ...this.#state,
      isUp,
      lastError: message,
      lastErrorClass: failureClass,
    };
    metrics.gatewayRequests.inc({ outcome: failureClass });
  }
}

function requestHeaders(extra: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const own = {
    "content-type": "application/json",
    accept: "application/json",
    // On a local network compression costs both ends more than it saves.
    "accept-encoding": "identity",
  };
  const lowered = Object.entries(extra).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...own, ...Object.fromEntries(lowered) };
}

const isLost = (result: object) =>
  result instanceof CallFailure && result.code === "connection_lost";

function abortedFailure(): CallFailure {
  return new CallFailure({ message: "the call was cancelled", failureClass: "aborted" });
}

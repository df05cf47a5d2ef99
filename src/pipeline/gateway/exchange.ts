import type { Dispatcher } from "undici";
import { CallFailure, type FailureClass, type FailureCode } from "../../core/failure.ts";
import type { AbortCallbacks } from "../../lib/abort-callbacks.ts";
import { networkFailure } from "./network-failure.ts";
import type { ReceiveBuffers } from "./receive-buffers.ts";
import { ResponseBody } from "./response-body.ts";
import type { SocketFlow } from "./socket-flow.ts";

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Deadlines of one call (services section 5, "Timeouts"); tests shorten them. */
export interface CallDeadlines {
  readonly gapMs: number;
  /** From the request on. */
  readonly totalMs: number;
  /** After this time of the body, it must have arrived with `bytesPerSecondMin` on average. */
  readonly slowAfterMs: number;
  readonly bytesPerSecondMin: number;
}
export const CALL_DEADLINES: CallDeadlines = {
  gapMs: 30_000,
  totalMs: 600_000,
  slowAfterMs: 60_000,
  bytesPerSecondMin: 1_000,
};

export interface ExchangeRequest {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly firstByteMs: number;
  readonly bodyBytesMax: number;
  readonly deadlines: CallDeadlines;
  readonly signal: AbortSignal;
  readonly aborts: AbortCallbacks;
  /** Monotonic ms. */
  readonly now: () => number;
  /** The memory of the connection that carries it. */
  readonly received: () => ReceiveBuffers;
  readonly flow: () => Pick<SocketFlow, "pause" | "resume" | "end">;
  /** Called once, when the exchange is over: whether its connection can carry another one. */
  readonly onOver: (isReusable: boolean) => void;
  /** Called when the request is sent on its connection. */
  readonly onStart: () => void;
}

export interface ExchangeHead {
  readonly status: number;
  readonly headers: Headers;
  readonly body: ResponseBody;
}

/** One POST over one connection, limited by its deadlines. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: ExchangeRequest;
  readonly #head: Promise<ExchangeHead>;
  #resolveHead: (head: ExchangeHead) => void = () => {};
  #rejectHead: (failure: CallFailure) => void = () => {};
  readonly #body: ResponseBody;
  /** Monotonic ms, of the response head: a gateway that woke up slowly has its own deadline for that. */
  #bodyStartedAt = 0;
  #leave: (() => void) | null = null;
  readonly #onAbort = () => this.#fail("aborted", "aborted", "the call was cancelled");
  #firstByte: NodeJS.Timeout | null;
  #gap: NodeJS.Timeout | null = null;
  #total: NodeJS.Timeout;
  #slow: NodeJS.Timeout | null = null;
  #hasHead = false;
  #isOver = false;
  #bytes = 0;
  #pausedAt: number | null = null;
  #pausedMs = 0;

  constructor(request: ExchangeRequest) {
    this.#request = request;
    this.#head = new Promise((resolve, reject) => {
      this.#resolveHead = resolve;
      this.#rejectHead = reject;
    });
    this.#body = new ResponseBody({
      pause: () => this.#pause(),
      resume: () => this.#resume(),
      stop: () => this.#over(false),
      hold: (piece) => request.received().hold(piece),
      release: (piece) => request.received().release(piece),
    });
    const { firstByteMs, deadlines, signal, aborts } = request;
    this.#firstByte = setTimeout(
      () => this.#fail("transient", "first_byte_timeout", `no response within ${firstByteMs} ms`),
      firstByteMs,
    );
    this.#total = setTimeout(
      () => this.#cut("total_timeout", `not complete after ${deadlines.totalMs} ms`),
      deadlines.totalMs,
    );
    if (signal.aborted) this.#onAbort();
    else this.#leave = aborts.add(signal, this.#onAbort);
  }

  /** Sends it; resolves when the response head has arrived. */
  send(client: Dispatcher): Promise<ExchangeHead> {
    if (!this.#isOver) {
      const { origin, path, headers, body } = this.#request;
      client.dispatch(
        { origin, path, method: "POST", headers, body, headersTimeout: 0, bodyTimeout: 0 },
        this,
      );
    }
    return this.#head;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) controller.abort(new Error("over"));
    else this.#request.onStart();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
  ): void {
    if (status < 200 || this.#isOver) return;
    this.#hasHead = true;
    this.#request.received().headRead();
    clear(this.#firstByte);
    this.#firstByte = null;
    const { deadlines } = this.#request;
    this.#gap = this.#startGap();
    this.#bodyStartedAt = this.#request.now();
    this.#slow = setTimeout(() => this.#checkRate(), deadlines.slowAfterMs);
    this.#resolveHead({ status, headers, body: this.#body });
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += piece.length;
    const { bodyBytesMax } = this.#request;
    if (this.#bytes > bodyBytesMax) {
      return this.#fail("too_large", "too_large", `the response exceeds ${bodyBytesMax} bytes`);
    }
    this.#gap?.refresh();
    this.#body.push(piece);
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#request.flow().end();
    this.#over(true);
    this.#body.finish(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#end(networkFailure(error, this.#hasHead));
  }

  #checkRate(): void {
    const { bytesPerSecondMin, slowAfterMs } = this.#request.deadlines;
    const pausedMs =
      this.#pausedMs + (this.#pausedAt === null ? 0 : this.#request.now() - this.#pausedAt);
    const elapsedMs = this.#request.now() - this.#bodyStartedAt - pausedMs;
    if (elapsedMs >= slowAfterMs && this.#bytes < (bytesPerSecondMin * elapsedMs) / 1_000) {
      return this.#cut("too_slow", `${this.#bytes} bytes in ${Math.round(elapsedMs)} ms`);
    }
    this.#slow = setTimeout(() => this.#checkRate(), Math.min(1_000, slowAfterMs));
  }

  // A slow reader is not the gateway's fault: the deadline between bytes is suspended meanwhile.
  #pause(): void {
    clear(this.#gap);
    this.#gap = null;
    this.#pausedAt = this.#request.now();
    this.#request.flow().pause();
  }

  #resume(): void {
    if (this.#pausedAt !== null) this.#pausedMs += this.#request.now() - this.#pausedAt;
    this.#pausedAt = null;
    if (this.#isOver) return;
    // A timer that was cleared cannot be refreshed: that would start nothing.
    this.#gap = this.#startGap();
    this.#request.flow().resume();
  }

  #startGap(): NodeJS.Timeout {
    const { gapMs } = this.#request.deadlines;
    return setTimeout(() => this.#cut("gap_timeout", `no bytes for ${gapMs} ms`), gapMs);
  }

  /** A deadline: before the response head it is an outage, after it the response is truncated. */
  #cut(code: FailureCode, message: string): void {
    this.#fail(this.#hasHead ? "truncated" : "transient", code, message);
  }

  #fail(failureClass: FailureClass, code: FailureCode, message: string): void {
    this.#end(new CallFailure({ message, failureClass, code }));
  }

  #end(failure: CallFailure): void {
    if (this.#isOver) return;
    this.#over(false);
    this.#body.finish(failure);
    this.#rejectHead(failure);
  }

  #over(isReusable: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clear(this.#firstByte);
    clear(this.#gap);
    clear(this.#slow);
    clearTimeout(this.#total);
    this.#leave?.();
    this.#request.onOver(isReusable);
  }
}

function clear(timer: NodeJS.Timeout | null): void {
  if (timer) clearTimeout(timer);
}

/** The SensorService itself: one request in, one response out, with any active fault. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PolledKind } from "../core/sensor.ts";
import { isDay } from "../core/time/time-zone.ts";
import { sendBody } from "./body.ts";
import type { DayResponses } from "./day-response.ts";
import { envelopePieces, keyText, type Piece } from "./envelope.ts";
import type { FaultBook, FaultSet } from "./faults.ts";
import { sendHeadInPieces } from "./head-pieces.ts";
import { type StateOperation, stateRecord } from "./node-state.ts";
import type { SimulatorConfig } from "./options.ts";
import { LOGIN_PAGE, METHOD_PAGE, NOT_FOUND_PAGE, page, REQUEST_ERROR_PAGE } from "./pages.ts";
import { type FaultyItem, isRejected } from "./record-faults.ts";
import { BadRequest, RequestFields, readText } from "./request.ts";
import type { ServedLog } from "./served.ts";
import type { SettingsBox, SettingsResult } from "./settings.ts";
import type { SimulatedClock } from "./simulated-clock.ts";
import { type Spelling, WireWriter } from "./wire-writer.ts";

const READ_OPERATIONS: ReadonlyMap<string, PolledKind> = new Map<string, PolledKind>([
  ["getAccelData", "accel"],
  ["getCurrentData", "current"],
  ["getCurrentV2Data", "currentV2"],
  ["getAccCurrentData", "accCurrent"],
  ["get4_20GPData", "loop"],
  ["getDryContactData", "dryContact"],
  ["getRPMData", "rpm"],
]);
/** Calls remembered for tests and campaigns. */
const CALLS_MAX = 100_000;

/** One call as the gateway saw it. */
export interface CallNote {
  readonly operation: string;
  readonly sensor: string;
  readonly day: string;
  /** Gateway's clock, ms. */
  readonly atMs: number;
  readonly faults: readonly string[];
}

export interface ServiceParts {
  readonly config: SimulatorConfig;
  readonly clock: SimulatedClock;
  readonly answers: DayResponses;
  readonly settings: SettingsBox;
  readonly faults: FaultBook;
  readonly served: ServedLog;
}

export class Service {
  readonly #parts: ServiceParts;
  readonly #writer: WireWriter;
  readonly #used = new WeakSet<object>();
  readonly calls: CallNote[] = [];
  #inWork = 0;
  inWorkMax = 0;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    this.#writer = new WireWriter(parts.config.word);
  }

  async handle(
    operation: string,
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ) {
    this.#inWork += 1;
    this.inWorkMax = Math.max(this.inWorkMax, this.#inWork);
    try {
      await this.#answer(operation, request, response, signal);
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      if (!response.headersSent) this.html(response, error.status, REQUEST_ERROR_PAGE);
    } finally {
      this.#inWork -= 1;
    }
  }

  html(response: ServerResponse, status: number, text: string): void {
    response.statusCode = status;
    response.setHeader("Content-Type", "text/html; charset=UTF-8");
    response.setHeader("Content-Length", Buffer.byteLength(text));
    response.end(text);
  }

  async #answer(
    operation: string,
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ) {
    const { config } = this.#parts;
    const kind = READ_OPERATIONS.get(operation);
    const isUpdate = operation === "UpdateConfig" && config.generation === 1;
    const state = config.stateOperations.find(({ name }) => name === operation);
    if (!kind && !state && operation !== "saveSettings" && !isUpdate) {
      return this.html(response, 404, NOT_FOUND_PAGE);
    }
    if (request.method !== "POST") {
      response.setHeader("Allow", "POST");
      return this.html(response, 405, METHOD_PAGE);
    }
    const text = await readText(request);
    const fields = new RequestFields(text, config.word, config.strictTypes);
    const isRead = kind !== undefined || state !== undefined;
    const sensor = isRead ? (fields.text("sensorCode") ?? "") : fields.sensor("sensorCode");
    const day = kind ? (fields.text("date") ?? "") : "";
    const faults = this.#parts.faults.matchFaults({ operation, kind: kind ?? null, sensor, day });
    this.#note(operation, sensor, day, faults);
    if (faults.has("no-date")) response.removeHeader("Date");
    const pieces = faults.get("head-in-pieces");
    if (pieces) sendHeadInPieces(response, pieces.spec, config.clock, signal);
    if (this.#pageInstead(response, faults)) return;
    // A settings call takes effect even if its response is lost.
    const outcome = isRead ? null : this.#settle(operation, fields);
    const isReused = this.#used.has(request.socket);
    this.#used.add(request.socket);
    if (!(await this.#mayAnswer(response, faults, isReused, signal))) return;
    response.setHeader("Content-Type", "application/json; charset=utf-8");
    const contentType = faults.get("content-type");
    if (contentType?.spec.text === "") response.removeHeader("Content-Type");
    else if (contentType) response.setHeader("Content-Type", contentType.spec.text ?? "text/html");
    const isGzip = faults.has("gzip") && /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
    const body = { response, clock: config.clock, signal };
    if (outcome) {
      await sendBody(
        [{ text: this.#outcomeText(operation, outcome), item: null }],
        faults,
        isGzip,
        body,
      );
      return;
    }
    if (state) {
      const text = this.#stateText(state, sensor, faults);
      await sendBody([{ text, item: null }], faults, isGzip, body);
      return;
    }
    if (!kind) return;
    // What cannot be bound is refused before the handler, which fails at a date that is none.
    if (!fields.has("date")) throw new BadRequest(400, "date is missing");
    if (!isDay(day)) throw new BadRequest(config.faultStatus, "date is not a day");
    const dayPieces = this.#dayPieces(operation, kind, fields, day, faults);
    const delivery = await sendBody(dayPieces, faults, isGzip, body);
    const isRefused = faults.has("non-zero-status") || faults.has("non-zero-status-with-records");
    if (isRefused || delivery.items.length === 0) return;
    const isReadable = delivery.isComplete && !faults.has("utf16");
    this.#parts.served.mark(sensor, kind, delivery.items, isReadable ? "complete" : "partial");
  }

  #dayPieces(
    operation: string,
    kind: PolledKind,
    fields: RequestFields,
    day: string,
    faults: FaultSet,
  ): Iterable<Piece> {
    const { answers, config } = this.#parts;
    const code = fields.text("sensorCode") ?? "";
    const items = answers.items({ kind, type: fields.integer("sensorType"), code, day }, faults);
    const source = answers.sensorOf(code.trim().replace(/^0+(?=\d)/, ""));
    const writer = this.#writerFor(faults);
    const render = (item: FaultyItem) =>
      source ? writer.record(answers.record(source, kind, item)) : "";
    return envelopePieces(operation, items, render, faults, config.emptyDay);
  }

  /** One record of the sensor as it is now; none for a serial number that is not in the plant. */
  #stateText(operation: StateOperation, code: string, faults: FaultSet): string {
    const { answers, clock } = this.#parts;
    const place = answers.placeOf(code.trim().replace(/^0+(?=\d)/, ""));
    const isRefused = faults.has("non-zero-status");
    const record =
      place < 0 || isRefused
        ? ""
        : this.#writerFor(faults).record(stateRecord(operation, code, place, clock.now()));
    const key = isRefused ? keyText(17, "Invalid operation") : keyText(0, "OK");
    const envelope = `[{"Configs":[],"Key":${key},"Value":[${record}]}]`;
    return faults.has("wrapped") ? `{"${operation.name}Result":${envelope}}` : envelope;
  }

  #writerFor(faults: FaultSet): WireWriter {
    const spelling: Spelling = {
      numbersAsStrings: faults.has("numbers-as-strings"),
      decimalCommas: faults.has("decimal-commas"),
      isoTimes: faults.has("iso-times"),
      oddCase: faults.has("odd-case"),
      whiteSpace: faults.has("white-space"),
      plainSlashes: faults.has("plain-slashes"),
      quotedTokens: faults.has("quoted-tokens"),
    };
    return Object.values(spelling).includes(true) ? this.#writer.spelling(spelling) : this.#writer;
  }

  #settle(operation: string, fields: RequestFields): SettingsResult {
    const { settings } = this.#parts;
    return operation === "saveSettings" ? settings.save(fields) : settings.update(fields);
  }

  #outcomeText(operation: string, { status, description }: SettingsResult): string {
    const key = keyText(status, description);
    if (operation === "UpdateConfig") return `[{"Configs":[],"Key":${key}}]`;
    switch (this.#parts.config.settings.answer) {
      case "bare":
        return `{"Configs":[],"Key":${key},"Value":[]}`;
      case "key-only":
        return key;
      case "wrapped":
        return `{"saveSettingsResult":[{"Configs":[],"Key":${key},"Value":[]}]}`;
      case "envelope":
        return `[{"Configs":[],"Key":${key},"Value":[]}]`;
    }
  }

  #note(operation: string, sensor: string, day: string, faults: FaultSet): void {
    if (this.calls.length >= CALLS_MAX) this.calls.splice(0, CALLS_MAX / 2);
    const names = faults.all.map(({ spec }) => spec.name);
    this.calls.push({ operation, sensor, day, atMs: this.#parts.clock.now(), faults: names });
  }

  /** Statuses and pages instead of the response. */
  #pageInstead(response: ServerResponse, faults: FaultSet): boolean {
    const seconds = (name: "too-many-requests" | "unavailable") =>
      String(faults.get(name)?.spec.seconds ?? 2);
    if (faults.has("html-500")) this.html(response, 500, REQUEST_ERROR_PAGE);
    else if (faults.has("html-400")) this.html(response, 400, REQUEST_ERROR_PAGE);
    else if (faults.has("html-404")) this.html(response, 404, NOT_FOUND_PAGE);
    else if (faults.has("html-login")) this.html(response, 200, LOGIN_PAGE);
    else if (faults.has("empty-body")) this.html(response, 200, "");
    else if (faults.has("redirect")) {
      response.setHeader("Location", faults.get("redirect")?.spec.text ?? "/login");
      this.html(response, 302, page("Object moved", "Object moved to here."));
    } else if (faults.has("unauthorized")) {
      response.setHeader("WWW-Authenticate", 'Basic realm="gateway"');
      this.html(response, 401, page("Unauthorized", "Access is denied."));
    } else if (faults.has("forbidden"))
      this.html(response, 403, page("Forbidden", "Access is denied."));
    else if (faults.has("proxy-auth")) {
      this.html(response, 407, page("Proxy", "Proxy authentication required."));
    } else if (faults.has("too-many-requests")) {
      response.setHeader("Retry-After", seconds("too-many-requests"));
      this.html(response, 429, page("Too Many Requests", "Try again later."));
    } else if (faults.has("unavailable")) {
      response.setHeader("Retry-After", seconds("unavailable"));
      this.html(response, 503, page("Service Unavailable", "The service is unavailable."));
    } else if (faults.has("http-status")) {
      this.html(response, faults.get("http-status")?.spec.status ?? 500, page("Error", "Error."));
    } else return false;
    return true;
  }

  /** Delays and lost connections; false if there will be no response. */
  async #mayAnswer(
    response: ServerResponse,
    faults: FaultSet,
    isReused: boolean,
    signal: AbortSignal,
  ) {
    const { socket } = response;
    const { clock } = this.#parts.config;
    if (isReused && faults.has("stale-keep-alive")) socket?.resetAndDestroy();
    else if (faults.has("close-without-answer")) socket?.end();
    else if (faults.has("reset-without-answer")) socket?.resetAndDestroy();
    else if (!faults.has("never-answer")) {
      const slow = faults.get("slow-first-byte");
      if (slow) await clock.sleep(slow.spec.ms ?? 20_000, signal);
      const load = faults.get("overloaded");
      if (load) await clock.sleep((load.spec.ms ?? 2000) * this.#inWork, signal);
      return !signal.aborted;
    }
    return false;
  }
}

/** Whether a served record must become a reading of some client, or must not. */
export function expectationOf(
  item: Pick<FaultyItem, "steps">,
  kind: PolledKind,
): "reading" | "reject" {
  return isRejected(item.steps, kind) ? "reject" : "reading";
}

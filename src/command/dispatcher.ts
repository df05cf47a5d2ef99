/**
 * Sensor settings, once only and one at a time: checked, logged before the gateway is called, called at most once in
 * ten seconds, answered. A request that comes again gets the first outcome; it never acts twice, over restarts too,
 * because its entry is durable before the call.
 */
import { createHash } from "node:crypto";
import {
  type CommandEntry,
  type CommandLog,
  type CommandResult,
  INTERRUPTED,
  type LoggedOutcome,
  type SensorSettings,
  type SettingsGateway,
  type SettingsOperation,
} from "../core/command.ts";
import { CallFailure } from "../core/failure.ts";
import type { Clock, Logger, Message } from "../core/ports.ts";
import type { SiteSource } from "../core/site-source.ts";
import { CommandGate } from "./command-gate.ts";
import { Refusals } from "./refusals.ts";
import { replyTopic } from "./reply-topic.ts";
import { checkSettings, namedSensor, refusal } from "./save-settings.ts";

/**
 * At most one call in 10 s (contract 8), as the gateway counts: a call that was long on its way is followed by one that was not.
 */
const CALL_SPACING_MS = 10_100;
const WAITING_MAX = 10;
const CORRELATION_MEMORY_MS = 24 * 3_600_000;
const PAYLOAD_MEMORY_MS = 60_000;
/** What of a request is kept, characters; a valid one has about 130. */
const LOGGED_PAYLOAD_MAX = 1024;
/** A larger request is not parsed, bytes. */
const REQUEST_BYTES_MAX = 16_384;

export interface DispatcherParts {
  readonly gateway: SettingsGateway;
  readonly log: CommandLog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts outcomes: metrics.commands.inc({ outcome }). */
  readonly counter: { inc(labels: { outcome: string }): void };
  /** For what is kept, logged and answered of a request: a broker may put secrets into one. */
  readonly redact?: (text: string) => string;
  /** Of what came over MQTT; the HTTP side keeps its own in the audit log. */
  readonly audit?: (who: string, what: string, outcome: string, detail: string) => void;
}
export interface DispatcherOptions {
  readonly site: SiteSource;
  readonly operation: SettingsOperation;
  readonly wireWord: string;
  /** COMMAND_RESPONSE_PREFIX; null or absent = anywhere outside the agent's own topics. */
  readonly responsePrefix?: string | null;
}

/** As the audit log calls it. */
const COMMAND_NAME = "agent/cmd/saveSettings";

/** Who speaks over an uplink, as the audit log calls them. */
export function mqttActor(uplink = ""): string {
  return `MQTT ${uplink}`.trim();
}

/** An MQTT request as it arrived. */
export interface CommandMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly responseTopic?: string;
  readonly correlationData?: Uint8Array;
  /** The broker kept it from earlier: it would act again on every connection. */
  readonly retain?: boolean;
  /** Name of the uplink it came over. */
  readonly uplink?: string;
}

interface Request {
  readonly entry: CommandEntry;
  /** Who asked and how, for the audit log; null where others keep it there. */
  readonly asked: { readonly who: string; readonly what: string } | null;
  readonly memoryMs: number;
  /** A person who asks again after a failure means it; what asks again over MQTT is a redelivery. */
  readonly isRedelivered: boolean;
  readonly body: unknown;
  readonly refused: string | null;
}

export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #options: DispatcherOptions;
  readonly #gate: CommandGate;
  readonly #refusals: Refusals;
  readonly #stop = new AbortController();
  /** Requests under way by key, so that a redelivery joins its first. */
  readonly #running = new Map<string, Promise<CommandResult>>();
  /** The end of the queue to the gateway. */
  #turn: Promise<void> = Promise.resolve();
  /** Commands accepted and not answered; of these, the ones whose first call has not begun. */
  #accepted = 0;
  #waiting = 0;
  /** Monotonic, ms; null until the log was asked for the call before our start. */
  #lastCallAt: number | null = null;

  constructor(parts: DispatcherParts, options: DispatcherOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#gate = new CommandGate(parts.clock, parts.logger);
    this.#refusals = new Refusals(parts);
  }

  /** Executes an MQTT request and hands the answer to `reply`; null where too many come to look at. Never rejects. */
  async handleMessage(
    message: CommandMessage,
    reply: (answer: Message) => Promise<unknown> | void,
  ): Promise<CommandResult | null> {
    if (!this.#gate.pass()) return null;
    const result = await this.#once(this.#requestOf(message));
    const { correlationData } = message;
    try {
      await reply({
        topic: replyTopic(message, this.#options.responsePrefix ?? null),
        payload: JSON.stringify(result),
        qos: 1,
        retain: false,
        contentType: "application/json",
        ...(correlationData === undefined ? {} : { correlationData }),
      });
    } catch (error) {
      this.#parts.logger.warn({ err: error }, "response to a command could not be sent");
    }
    return result;
  }

  /** Executes a request of the HTTP side or the command line. Never rejects. @param asked by whom and how, where nobody else audits it */
  execute(
    request: Readonly<Record<string, unknown>>,
    source: "http" | "cli" = "http",
    asked: Request["asked"] = null,
  ): Promise<CommandResult> {
    const payload = JSON.stringify(request);
    return this.#once({
      asked,
      entry: this.#entry(source, `${source}:${digest(payload)}`, payload, request),
      memoryMs: PAYLOAD_MEMORY_MS,
      isRedelivered: false,
      body: request,
      refused: null,
    });
  }

  lastQueuedAtMs(sensor: string): number | null {
    return this.#parts.log.lastQueued(sensor)?.finishedAtMs ?? null;
  }

  /** Ends waits and calls; what was under way is answered. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#running.values());
    await this.#refusals.close();
  }

  #requestOf(message: CommandMessage): Request {
    const text = new TextDecoder().decode(message.payload.subarray(0, REQUEST_BYTES_MAX));
    let body: unknown = null;
    let refused = message.retain ? "a retained request is not executed" : null;
    if (message.payload.length > REQUEST_BYTES_MAX)
      refused ??= `the request has ${message.payload.length} bytes, more than ${REQUEST_BYTES_MAX}`;
    else {
      try {
        body = JSON.parse(text);
      } catch {
        refused ??= "the request is not valid JSON";
      }
    }
    // Empty data tells no request from another.
    const correlation = message.correlationData?.length ? message.correlationData : null;
    const key = correlation
      ? `mqtt-correlation:${digest(correlation)}`
      : `mqtt-payload:${digest(message.payload)}`;
    return {
      asked: { who: mqttActor(message.uplink), what: COMMAND_NAME },
      entry: this.#entry("mqtt", key, text, body),
      memoryMs: correlation ? CORRELATION_MEMORY_MS : PAYLOAD_MEMORY_MS,
      isRedelivered: true,
      body,
      refused,
    };
  }

  #entry(source: CommandEntry["source"], key: string, text: string, body: unknown): CommandEntry {
    return {
      receivedAtMs: this.#parts.clock.now(),
      key,
      sensor: this.#redact(namedSensor(body, this.#options.wireWord)),
      source,
      payload: this.#redact(text).slice(0, LOGGED_PAYLOAD_MAX),
    };
  }

  #redact(text: string): string {
    return this.#parts.redact?.(text) ?? text;
  }

  async #once(request: Request): Promise<CommandResult> {
    const { key } = request.entry;
    const running = this.#running.get(key);
    if (running) return running;
    const promise = this.#perform(request).catch((error: unknown): CommandResult => {
      this.#parts.logger.error({ err: error }, "command could not be logged or executed");
      return local("the agent could not log the command, so it was not executed");
    });
    this.#running.set(key, promise);
    try {
      return await promise;
    } finally {
      this.#running.delete(key);
    }
  }

  async #perform(request: Request): Promise<CommandResult> {
    const { log, clock, logger, counter } = this.#parts;
    const { entry } = request;
    const since = entry.receivedAtMs - request.memoryMs;
    const before = this.#refusals.find(entry.key, since) ?? log.findByKey(entry.key, since);
    const isSettled = before?.outcome === "queued" || before?.outcome === "rejected_service";
    if (before && (request.isRedelivered || isSettled)) return remembered(before);

    this.#lastCallAt ??= this.#lastCallBeforeStart();
    const decided = this.#decide(request);
    if ("outcome" in decided) {
      // It calls nothing, so its entry need not be durable first.
      counter.inc({ outcome: decided.outcome });
      this.#refusals.add(entry, decided);
      this.#audit(request, decided);
      return decided;
    }
    const command = log.begin(entry);
    const result = await this.#inTurn(decided.settings, decided.mustWait);
    counter.inc({ outcome: result.outcome });
    logger.info({ sensor: entry.sensor, source: entry.source, ...result }, "sensor settings");
    this.#audit(request, result);
    try {
      log.finish(command, result, clock.now());
    } catch (error) {
      // The gateway has answered: that answer counts, whatever the disk says.
      logger.error({ err: error, command }, "outcome of a command could not be stored");
    }
    return result;
  }

  #audit({ asked, entry }: Request, { outcome, statusNumber }: CommandResult): void {
    if (asked === null) return;
    const status = statusNumber === null || statusNumber === 0 ? "" : ` status ${statusNumber}`;
    this.#parts.audit?.(asked.who, asked.what, outcome, `${entry.sensor.slice(0, 64)}${status}`);
  }

  /** What is to be called, or why nothing is. */
  #decide(
    request: Request,
  ): CommandResult | { readonly settings: SensorSettings; readonly mustWait: boolean } {
    if (request.refused !== null) return local(request.refused);
    const { site, wireWord, operation } = this.#options;
    const checked = checkSettings(request.body, site.current.sensors, wireWord, operation);
    if ("whyNots" in checked) {
      const refused = refusal(checked.whyNots);
      return { ...refused, description: this.#redact(refused.description) };
    }
    const { clock } = this.#parts;
    const mustWait = this.#accepted > 0 || clock.monotonic() < this.#nextCallAt();
    if (mustWait && this.#waiting >= WAITING_MAX)
      return local(`${WAITING_MAX} commands are waiting already, try again later`);
    return { settings: checked.settings, mustWait };
  }

  #nextCallAt(): number {
    return (this.#lastCallAt ?? Number.NEGATIVE_INFINITY) + CALL_SPACING_MS;
  }

  /** The spacing holds over a restart. A wall clock that jumped can only make us wait one spacing too long. */
  #lastCallBeforeStart(): number {
    const { log, clock } = this.#parts;
    const call = log.lastCall();
    if (call === null) return Number.NEGATIVE_INFINITY;
    // A command waits its turn, so its call is nearer to its end; one that a crash cut short may have waited longest.
    const at = call.finishedAtMs ?? call.receivedAtMs + WAITING_MAX * CALL_SPACING_MS;
    return clock.monotonic() - Math.max(0, clock.now() - at);
  }

  /** One at a time, in order of arrival. */
  async #inTurn(settings: SensorSettings, mustWait: boolean): Promise<CommandResult> {
    const before = this.#turn;
    let done = () => {};
    this.#turn = new Promise((resolve) => {
      done = resolve;
    });
    this.#accepted += 1;
    if (mustWait) this.#waiting += 1;
    try {
      await before;
      return await this.#call(settings, mustWait);
    } finally {
      this.#accepted -= 1;
      done();
    }
  }

  async #call(settings: SensorSettings, mustWait: boolean): Promise<CommandResult> {
    const { gateway, clock } = this.#parts;
    const { operation } = this.#options;
    const { signal } = this.#stop;
    const waitMs = this.#nextCallAt() - clock.monotonic();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    if (mustWait) this.#waiting -= 1;
    if (signal.aborted) return local("the agent is stopping, the gateway was not called");
    this.#lastCallAt = clock.monotonic();
    try {
      return resultOf(await gateway.queueSettings(operation, settings, signal));
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      return resultOfFailure(error);
    }
  }
}

function remembered({ outcome, statusNumber, description }: LoggedOutcome): CommandResult {
  if (outcome === null)
    return { ok: false, outcome: "unknown", statusNumber: null, description: INTERRUPTED };
  return { ok: outcome === "queued", outcome, statusNumber, description: description ?? "" };
}

function local(description: string): CommandResult {
  return { ok: false, outcome: "rejected_local", statusNumber: null, description };
}

function resultOf(answer: { statusNumber: number; description: string }): CommandResult {
  const ok = answer.statusNumber === 0;
  return {
    ok,
    outcome: ok ? "queued" : "rejected_service",
    statusNumber: answer.statusNumber,
    description: answer.description,
  };
}

/**
 * The service said no, for good; or there is no answer (a timeout, a reset), whether it has acted or not. The gateway
 * is called once (contract 8): to repeat a lost one, with other correlation data, is the sender's decision.
 */
function resultOfFailure(failure: CallFailure): CommandResult {
  const { statusNumber, failureClass, code, message } = failure;
  const isNo =
    statusNumber !== null || failureClass === "request" || failureClass === "configuration";
  if (isNo) return { ok: false, outcome: "rejected_service", statusNumber, description: message };
  const isUnreached = ["connect", "name_resolution", "tls"].includes(code);
  return {
    ok: false,
    outcome: "unknown",
    statusNumber: null,
    description: isUnreached ? message : `the settings may or may not be queued: ${message}`,
  };
}

function digest(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest("hex").slice(0, 32);
}

/**
 * Executes sensor settings once only and one at a time: a request is checked and logged, the gateway is called at
 * most once per ten seconds, and the outcome is returned. A repeated request gets the first outcome and is never
 * executed twice, even across restarts, because its entry is durable before the call.
 */
import {
  type CommandEntry,
  type CommandLog,
  type CommandResult,
  type SensorSettings,
  type SettingsGateway,
  type SettingsOperation,
  STORE_HELD,
} from "../../core/command.ts";
import type { Message } from "../../core/message.ts";
import type { Runtime } from "../../core/ports.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { type CommandMessage, replyTo } from "../../core/topics/request.ts";
import { CommandGate } from "../../lib/command-gate.ts";
import { createWireNames } from "../../pipeline/wire/wire-names.ts";
import { CallQueue, WAITING_MAX } from "./call-queue.ts";
import { rejectedLocally, remembered } from "./command-result.ts";
import { Refusals } from "./refusals.ts";
import { type Request, type RequestContext, requestOfBody, requestOfMessage } from "./request.ts";
import { checkSettings, refusal } from "./save-settings.ts";

export interface DispatcherParts extends Runtime {
  readonly gateway: SettingsGateway;
  readonly log: CommandLog;
  /** Counts outcomes: metrics.commands.inc({ outcome }). */
  readonly counter: { inc(labels: { outcome: string }): void };
  /** For everything kept, logged and answered of a request: a broker may insert secrets into one. */
  readonly redact?: (text: string) => string;
  /** Why nothing can be kept of a request; null if it can. */
  readonly whyUnwritable?: () => Promise<string | null>;
  /** For commands over MQTT; the HTTP server keeps its own audit log entries. */
  readonly audit?: (who: string, what: string, outcome: string, detail: string) => void;
}
export interface DispatcherOptions {
  readonly site: SiteSource;
  readonly operation: SettingsOperation;
  /** WIRE_WORD as set; requests name it as the wire does. */
  readonly wireWord: string;
  /** COMMAND_RESPONSE_PREFIX; null or absent = anywhere outside the agent's own topics. */
  readonly responsePrefix?: string | null;
}

export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #options: DispatcherOptions;
  /** The vendor's word for `sensor`, spelled as in every other request. */
  readonly #word: string;
  readonly #gate: CommandGate;
  readonly #refusals: Refusals;
  readonly #calls: CallQueue;
  /** Requests in progress by key, so that a redelivery joins its original. */
  readonly #running = new Map<string, Promise<CommandResult>>();

  constructor(parts: DispatcherParts, options: DispatcherOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#word = createWireNames({ word: options.wireWord, service: "" }).wire("sensor");
    this.#gate = new CommandGate(parts.clock, parts.logger);
    this.#refusals = new Refusals(parts);
    this.#calls = new CallQueue(parts, options.operation);
  }

  /** Executes an MQTT request and passes the response to `reply`; null if too many arrive to examine. Never rejects. */
  async handleMessage(
    message: CommandMessage,
    reply: (response: Message) => Promise<unknown> | void,
  ): Promise<CommandResult | null> {
    if (!this.#gate.pass()) return null;
    const result = await this.#once(requestOfMessage(message, this.#context()));
    try {
      await reply(replyTo(message, result, this.#options.responsePrefix ?? null));
    } catch (error) {
      this.#parts.logger.warn({ err: error }, "response to a command could not be sent");
    }
    return result;
  }

  /** Executes a request from HTTP, the command line or Sparkplug. Never rejects. @param actor who requested it and how, if nobody else audits it */
  execute(
    request: Readonly<Record<string, unknown>>,
    source: CommandEntry["source"] = "http",
    actor: Request["actor"] = null,
  ): Promise<CommandResult> {
    return this.#once(requestOfBody(request, source, actor, this.#context()));
  }

  /** Ends waits and calls; commands in progress are answered. */
  async close(): Promise<void> {
    this.#calls.stop();
    await Promise.allSettled(this.#running.values());
    await this.#refusals.close();
  }

  #context(): RequestContext {
    return {
      receivedAtMs: this.#parts.clock.now(),
      wireWord: this.#word,
      redact: (text) => this.#redact(text),
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
      return rejectedLocally("the agent could not log the command, so it was not executed");
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

    const why = (await this.#parts.whyUnwritable?.()) ?? null;
    if (why !== null) {
      const held = { ...rejectedLocally(why), reason: STORE_HELD } as const;
      counter.inc({ outcome: held.outcome });
      return held;
    }
    this.#calls.load();
    const decided = this.#decide(request);
    if ("outcome" in decided) {
      // It calls nothing, so its entry need not be durable first.
      counter.inc({ outcome: decided.outcome });
      this.#refusals.add(entry, decided);
      this.#audit(request, decided);
      return decided;
    }
    // By its code in the site file, by which it is looked up: a request may spell it with leading zeros.
    const command = log.begin({ ...entry, sensor: decided.settings.code });
    const result = await this.#calls.call(decided.settings, decided.mustWait);
    counter.inc({ outcome: result.outcome });
    logger.info({ sensor: entry.sensor, source: entry.source, ...result }, "sensor settings");
    this.#audit(request, result);
    try {
      await log.finish(command, result, clock.now());
    } catch (error) {
      // The gateway has responded: that response counts, even if the disk fails.
      logger.error({ err: error, command }, "outcome of a command could not be stored");
    }
    return result;
  }

  #audit({ actor, entry }: Request, { outcome, statusNumber }: CommandResult): void {
    if (actor === null) return;
    const status = statusNumber === null || statusNumber === 0 ? "" : ` status ${statusNumber}`;
    this.#parts.audit?.(actor.who, actor.what, outcome, `${entry.sensor.slice(0, 64)}${status}`);
  }

  /** The call to make, or why there is none. */
  #decide(
    request: Request,
  ): CommandResult | { readonly settings: SensorSettings; readonly mustWait: boolean } {
    if (request.refused !== null) return rejectedLocally(request.refused);
    const { site, operation } = this.#options;
    const checked = checkSettings(request.body, site.current.sensors, this.#word, operation);
    if ("whyNots" in checked) {
      const refused = refusal(checked.whyNots);
      return { ...refused, description: this.#redact(refused.description) };
    }
    const { mustWait, isFull } = this.#calls;
    if (mustWait && isFull)
      return rejectedLocally(`${WAITING_MAX} commands are already waiting; try again later`);
    return { settings: checked.settings, mustWait };
  }
}

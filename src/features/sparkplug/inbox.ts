import type { InboundMessage } from "../../core/delivery/link.ts";
import type { Logger } from "../../core/ports.ts";
import type { CommandGate } from "../../lib/command-gate.ts";
import type { LogPace } from "../../lib/log-pace.ts";
import { settingsOf } from "./metric-shape.ts";
import { decodeCommand } from "./payload.ts";
import type { PrimaryHost } from "./primary-host.ts";
import { REBIRTH_METRIC } from "./session.ts";
import type { NodeTopics } from "./topics.ts";

/** A command has some 400 bytes; decoding takes 0.7 ms a kilobyte of empty metrics. */
const COMMAND_BYTES_MAX = 4_096;
/** A rebirth request has some 40 bytes: as small as this, each is looked at. */
const SMALL_BYTES = 256;

export interface InboxParts {
  /** For lines of a repeated cause: over all sessions. */
  readonly pace: LogPace;
  /** For commands that cost something: over all sessions. */
  readonly gates: { readonly ncmd: CommandGate; readonly dcmd: CommandGate };
  readonly topics: NodeTopics;
  readonly host: PrimaryHost | null;
  readonly logger: Logger;
  readonly onNews: () => void;
  /** Settings for a device, by its id; null if commands are disabled. */
  readonly onSettings:
    | ((device: string, settings: Readonly<Record<string, number>>) => void)
    | null;
}

/** Messages received during one session, kept until the session processes them. No message can cause an exception. */
export class SparkplugInbox {
  readonly #parts: InboxParts;
  #isRebirthDue = false;
  #hasHostLeft = false;

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }
  /** A rebirth request since the last call; several at once are one. */
  takeRebirth(): boolean {
    const isDue = this.#isRebirthDue;
    this.#isRebirthDue = false;
    return isDue;
  }
  /** A rebirth request is pending: the next message on the wire is the NBIRTH, not data. */
  get isRebirthDue(): boolean {
    return this.#isRebirthDue;
  }
  /** The primary host reported offline in this session. */
  get hasHostLeft(): boolean {
    return this.#hasHostLeft;
  }
  /** Births begin: the earlier state of the host does not matter. */
  begin(): void {
    this.#hasHostLeft = false;
    this.#isRebirthDue = false;
  }
  get mayBeBorn(): boolean {
    return this.#parts.host === null || this.#parts.host.isOnline;
  }

  receive({ topic, payload, retain }: Pick<InboundMessage, "topic" | "payload" | "retain">): void {
    const { topics, host, logger, pace, gates } = this.#parts;
    const incoming = topics.parse(topic);
    const isCommand = incoming.what === "ncmd" || incoming.what === "dcmd";
    const why = isCommand ? whyIgnored(payload, retain) : null;
    if (why !== null) {
      const line = pace.next(why);
      if (line !== null) logger.warn({ topic, bytes: payload.length, ...line }, why);
      return;
    }
    switch (incoming.what) {
      case "state": {
        const wasOnline = host?.isOnline ?? false;
        const hadDoubt = host !== null && host.doubt !== null;
        const change = host?.apply(incoming.host, payload) ?? "ignored";
        if (host !== null && host.doubt !== null && !hadDoubt) {
          logger.warn({ topic, host: host.hostId }, `the primary host: ${host.doubt}`);
        }
        if (change === "ignored") {
          const line = pace.next("host state");
          const level = line === null ? "debug" : "info";
          logger[level]({ topic, ...line }, "an invalid host state was ignored");
          return;
        }
        if (change === "offline" && wasOnline) this.#hasHostLeft = true;
        break;
      }
      case "ncmd":
        if (payload.length > SMALL_BYTES && !gates.ncmd.pass()) return;
        // Recognised only by name and value: hosts send it with and without datatype, with QoS 0 or 1.
        if (
          !this.#decode(topic, payload).some((m) => m.name === REBIRTH_METRIC && m.value === true)
        ) {
          return;
        }
        this.#rebirth();
        break;
      case "dcmd": {
        if (!gates.dcmd.pass()) return;
        const settings = settingsOf(this.#decode(topic, payload));
        if (!this.#parts.onSettings || settings === null) return;
        this.#parts.onSettings(incoming.device, settings);
        break;
      }
      case "other":
        return;
    }
    this.#parts.onNews();
  }

  #rebirth(): void {
    this.#isRebirthDue = true;
    const line = this.#parts.pace.next("rebirth");
    if (line !== null)
      this.#parts.logger.info({ link: "sparkplug", ...line }, "a host requests births");
  }

  #decode(topic: string, payload: Uint8Array) {
    const metrics = decodeCommand(payload);
    if (metrics === null) {
      const line = this.#parts.pace.next("decode");
      this.#parts.logger[line === null ? "debug" : "warn"](
        { topic, bytes: payload.length, ...line },
        "a command that cannot be decoded was ignored",
      );
    }
    return metrics ?? [];
  }
}

/** The broker would send a retained command again at each connection, whoever once published it. */
function whyIgnored(payload: Uint8Array, isRetained: boolean): string | null {
  if (isRetained) return "a retained command is not executed: clear it at the broker";
  if (payload.length > COMMAND_BYTES_MAX)
    return `a command of more than ${COMMAND_BYTES_MAX} bytes was ignored`;
  return null;
}

/** A wake-up signal: a waiter on the armed signal is woken by `ring`, also if it rang before the waiting began. */
export class Wake {
  #bell = new AbortController();

  /** To be called before checking for work, so that no ring in between is missed. */
  arm(): AbortSignal {
    if (this.#bell.signal.aborted) this.#bell = new AbortController();
    return this.#bell.signal;
  }
  ring(): void {
    this.#bell.abort();
  }
}

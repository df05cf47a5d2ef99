/** Signed configurations over the sessions that accept them: where they are received, and where responses are published. */

import { publicUrl } from "../../core/addresses/public-url.ts";
import type { InboundMessage } from "../../core/delivery/link.ts";
import type { Message } from "../../core/message.ts";
import { replyTo } from "../../core/topics/request.ts";
import type { DocumentIntake, DocumentSession } from "../sessions.ts";
import type { DocumentResult, RemoteConfiguration } from "./remote.ts";
import type { Accepted, ReplyTo } from "./trial-records.ts";

/** Newest responses that are kept for uplinks that were not connected. */
const KEPT_MAX = 10;

interface Response {
  readonly result: DocumentResult;
  readonly reply: ReplyTo;
  /** Names of the uplinks that have not received it yet. */
  readonly uplinks: Set<string>;
  /** Whether it also goes to the uplinks' own result topics. */
  readonly isForAll: boolean;
}

export class SiteDocuments implements DocumentIntake {
  readonly #remote: Pick<RemoteConfiguration, "take">;
  readonly #audit: (detail: string, outcome: string) => void;
  readonly #configuration: () => string;
  /** COMMAND_RESPONSE_PREFIX. */
  readonly #responsePrefix: string | null;
  /** By uplink. */
  readonly #sessions = new Map<string, DocumentSession>();
  #kept: Response[] = [];
  /** The result of a document whose trial a restart interrupted: for every session of the start. */
  #recovered: Response | null = null;

  constructor(
    remote: Pick<RemoteConfiguration, "take">,
    recovered: Accepted | null,
    configuration: () => string,
    audit: (detail: string, outcome: string) => void,
    responsePrefix: string | null,
  ) {
    this.#remote = remote;
    this.#audit = audit;
    this.#responsePrefix = responsePrefix;
    this.#configuration = configuration;
    if (recovered === null) return;
    this.#recovered = this.#responseOf(recovered, []);
    this.#kept.push(this.#recovered);
  }

  /** The same where the disk took it only once the agent ran. */
  recovered(late: Accepted): void {
    const response = this.#responseOf(late, this.#sessions.keys());
    this.#kept = [...this.#kept, response].slice(-KEPT_MAX);
    for (const one of this.#sessions.values()) void this.#publish(response, one);
  }

  #responseOf(
    { version, detail, outcome, reason, reply }: Accepted,
    uplinks: Iterable<string>,
  ): Response {
    const configuration = this.#configuration();
    const result = { ok: false, outcome, version, reason, detail, configuration };
    return { result, reply, uplinks: new Set(uplinks), isForAll: true };
  }

  open(session: DocumentSession): void {
    const { name } = session.uplink;
    this.#sessions.set(name, session);
    this.#recovered?.uplinks.add(name);
  }

  close(session: DocumentSession): void {
    const { name } = session.uplink;
    if (this.#sessions.get(name) === session) this.#sessions.delete(name);
  }

  /** True if the message was one. */
  handle(message: InboundMessage, session: DocumentSession): boolean {
    if (message.topic !== session.topics.siteDocument) return false;
    const { responseTopic, correlationData } = message;
    const { name } = session.uplink;
    const asked: ReplyTo = {
      uplink: name,
      broker: brokerOf(session),
      responseTopic: responseTopic ?? null,
      correlation:
        correlationData === undefined ? null : Buffer.from(correlationData).toString("base64"),
    };
    void this.#remote.take(message.payload, asked, (result, reply, isRepeated) => {
      const { version, reason, outcome } = result;
      // Refusals of one reason within a minute are one entry: unsigned documents cannot fill the audit log.
      const which = version === null ? "no version" : `version ${version}`;
      this.#audit(
        `${which}${reason === null ? "" : `: ${reason}`}`,
        isRepeated ? "replayed" : outcome,
      );
      // What anybody can send without the key, or send again, concerns only whoever sent it.
      const isForAll = version !== null && !isRepeated;
      const uplinks = new Set(isForAll ? this.#sessions.keys() : [name]);
      const response = { result, reply, uplinks, isForAll };
      if (outcome !== "refused") this.#kept = [...this.#kept, response].slice(-KEPT_MAX);
      for (const one of this.#sessions.values()) void this.#publish(response, one);
    });
    return true;
  }

  connected(session: DocumentSession): void {
    this.#recovered = null;
    for (const response of this.#kept) void this.#publish(response, session);
  }

  async #publish(response: Response, session: DocumentSession): Promise<void> {
    const { uplinks } = response;
    const { name } = session.uplink;
    if (!uplinks.delete(name)) return;
    const messages = this.#messagesOf(response, session);
    const outcomes = await Promise.all(messages.map((message) => session.publish(message)));
    if (outcomes.some(({ result }) => result === "lost")) uplinks.add(name);
  }

  /** A response topic and its correlation belong to a client of the broker that the document came from. */
  #messagesOf({ result, reply, isForAll }: Response, session: DocumentSession): Message[] {
    const topic = session.topics.siteDocument;
    const beside = replyTo({ topic }, result, this.#responsePrefix);
    if (reply.uplink !== session.uplink.name || reply.broker !== brokerOf(session)) return [beside];
    const { responseTopic, correlation } = reply;
    const request = {
      topic,
      ...(responseTopic === null ? {} : { responseTopic }),
      ...(correlation === null ? {} : { correlationData: Buffer.from(correlation, "base64") }),
    };
    const requested = replyTo(request, result, this.#responsePrefix);
    return isForAll && requested.topic !== beside.topic
      ? [{ ...requested, fallbackTopic: null }, beside]
      : [requested];
  }
}

function brokerOf({ uplink }: DocumentSession): string {
  return uplink.urls.map(publicUrl).join(" ");
}

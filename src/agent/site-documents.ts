import { replyTo } from "../command/reply.ts";
import type { InboundMessage } from "../core/link.ts";
import type { Message } from "../core/message.ts";
import type { Topics } from "../core/topics/topics.ts";
import type { DocumentResult, RemoteConfiguration } from "../setup/remote.ts";
import type { Accepted, ReplyTo } from "../setup/trial-journal.ts";

type Publish = (message: Message) => Promise<unknown>;
type DocumentTopics = Pick<Topics, "siteDocument">;

/** Signed configurations over one session: where they are received, and where responses are published. */
export class SiteDocuments {
  readonly #remote: RemoteConfiguration;
  readonly #configuration: () => string;
  readonly #audit: (detail: string, outcome: string) => void;
  /** COMMAND_RESPONSE_PREFIX. */
  readonly #responsePrefix: string | null;
  /** The result of a document whose trial a restart interrupted, until it can be published. */
  #recovered: Accepted | null;

  constructor(
    remote: RemoteConfiguration,
    recovered: Accepted | null,
    configuration: () => string,
    audit: (detail: string, outcome: string) => void,
    responsePrefix: string | null,
  ) {
    this.#remote = remote;
    this.#recovered = recovered;
    this.#configuration = configuration;
    this.#audit = audit;
    this.#responsePrefix = responsePrefix;
  }

  /** True if the message was one. */
  handle(message: InboundMessage, topics: DocumentTopics, publish: Publish): boolean {
    if (message.topic !== topics.siteDocument) return false;
    const { responseTopic, correlationData } = message;
    const reply: ReplyTo = {
      responseTopic: responseTopic ?? null,
      correlation:
        correlationData === undefined ? null : Buffer.from(correlationData).toString("base64"),
    };
    void this.#remote.take(message.payload, reply, (result, to, isRepeated) => {
      const { version, reason, outcome } = result;
      // A flood of unsigned documents could fill the log as fast as a broker delivers.
      if (version !== null)
        this.#audit(
          `version ${version}${reason === null ? "" : `: ${reason}`}`,
          isRepeated ? "replayed" : outcome,
        );
      void publish(this.#messageOf(result, to, topics));
    });
    return true;
  }

  /** For `onConnected`: the response that a restart delayed. */
  connected(topics: DocumentTopics, publish: Publish): void {
    const recovered = this.#recovered;
    if (recovered === null) return;
    this.#recovered = null;
    const { version, detail, outcome, reason, reply } = recovered;
    const result: DocumentResult = {
      ok: false,
      outcome,
      version,
      reason,
      detail,
      configuration: this.#configuration(),
    };
    void publish(this.#messageOf(result, reply, topics));
  }

  #messageOf(result: DocumentResult, reply: ReplyTo, { siteDocument }: DocumentTopics): Message {
    const { responseTopic, correlation } = reply;
    const request = {
      topic: siteDocument,
      ...(responseTopic === null ? {} : { responseTopic }),
      ...(correlation === null ? {} : { correlationData: Buffer.from(correlation, "base64") }),
    };
    return replyTo(request, result, this.#responsePrefix);
  }
}

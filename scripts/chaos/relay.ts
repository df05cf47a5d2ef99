import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * The connection between agent and broker. It can be cut silently (nothing arrives any more, neither end is closed), and it can
 * be closed, so that the agent reaches a new broker only after the recorder has subscribed there.
 */
export class Relay {
  readonly #brokerPort: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #server: Server;
  #isSilent = false;
  #isOpen = true;
  #answerDelayMs = 0;

  constructor(brokerPort: number) {
    this.#brokerPort = brokerPort;
    this.#server = createServer((socket) => this.#join(socket));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }
  get url(): string {
    return `mqtt://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** From now on the broker's responses take this long, and so does each window of messages. */
  delayAnswers(ms: number): void {
    this.#answerDelayMs = ms;
  }
  /** From now on every byte is lost, in both directions. */
  silence(): void {
    this.#isSilent = true;
  }
  /** Works again; connections that lost bytes are closed. */
  heal(): void {
    this.#isSilent = false;
    this.reset();
  }
  reset(): void {
    for (const [agent, broker] of this.#pairs) {
      agent.destroy();
      broker.destroy();
    }
  }
  get isOpen(): boolean {
    return this.#isOpen;
  }
  /** Connections are refused until `open`. */
  shut(): void {
    this.#isOpen = false;
    this.reset();
  }
  open(): void {
    this.#isOpen = true;
  }
  async close(): Promise<void> {
    this.reset();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(agent: Socket): void {
    if (!this.#isOpen) {
      agent.destroy();
      return;
    }
    const broker = connect(this.#brokerPort, "127.0.0.1");
    agent.setNoDelay(true);
    broker.setNoDelay(true);
    const pair = [agent, broker] as const;
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      agent.destroy();
      broker.destroy();
    };
    const forward = (to: Socket) => (chunk: Buffer) => {
      if (!this.#isSilent && to.writable) to.write(chunk);
    };
    const answer = (chunk: Buffer) => {
      if (this.#answerDelayMs === 0) forward(agent)(chunk);
      else setTimeout(() => forward(agent)(chunk), this.#answerDelayMs);
    };
    agent.on("data", forward(broker)).on("error", end).on("close", end);
    broker.on("data", answer).on("error", end).on("close", end);
  }
}

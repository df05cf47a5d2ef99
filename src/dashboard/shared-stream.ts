/**
 * One live stream for all pages of a browser. Over plain HTTP a browser has six connections to an address: with a stream in each of seven pages,
 * nothing else would get through. One visible page holds the stream and passes on what comes; when it closes, is hidden or falls silent, another
 * takes its place. Who leads is the one with the smallest id of those that want to.
 */

/** A proxy may serve several boxes at one origin, each below its own path. */
const channelName = () => `gateside.events ${location.pathname}`;
/** How long a page that wants to lead waits for one that does, or that has the better right. */
const CLAIM_MS = 120;
const BEAT_MS = 1_000;
/** A leader that was not heard for so long is gone. */
const GONE_MS = 3_000;

const STREAM_EVENTS = ["status", "reading", "gap", "skipped"] as const;
export type StreamEventName = (typeof STREAM_EVENTS)[number];

type Message =
  | { readonly type: "claim" | "beat" | "leave" | "hello" | "lost"; readonly from: string }
  | {
      readonly type: "event";
      readonly from: string;
      readonly name: StreamEventName;
      readonly data: string;
    };

export interface StreamHooks {
  readonly onEvent: (name: StreamEventName, data: string) => void;
  /** Another stream begins: what came meanwhile was missed. */
  readonly onBegin: () => void;
  /** `isClosed`: the browser does not reconnect by itself (signed out, too many streams). */
  readonly onLost: (isClosed: boolean) => void;
}

export class SharedStream {
  readonly #hooks: StreamHooks;
  readonly #id = crypto.getRandomValues(new Uint32Array(2)).join("-");
  readonly #channel = "BroadcastChannel" in window ? new BroadcastChannel(channelName()) : null;
  #source: EventSource | null = null;
  #isWanted = false;
  #leader: string | null = null;
  #heardAt = Number.NEGATIVE_INFINITY;
  #claim: ReturnType<typeof setTimeout> | null = null;
  #lastStatus: string | null = null;

  constructor(hooks: StreamHooks) {
    this.#hooks = hooks;
    this.#channel?.addEventListener("message", ({ data }: MessageEvent<Message>) =>
      this.#take(data),
    );
    setInterval(() => this.#beat(), BEAT_MS);
  }

  /** This page holds the browser's stream. */
  get isLeader(): boolean {
    return this.#source !== null;
  }
  /** There is one, here or in another page. */
  get isOpen(): boolean {
    return this.isLeader || this.#isFollowing();
  }

  /** A visible page wants what comes, and leads if no other does. */
  want(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#send({ type: "hello", from: this.#id });
    this.#claimSoon();
  }

  /** A page that is hidden or left: others may lead. */
  release(): void {
    this.#isWanted = false;
    this.#cancelClaim();
    this.#close(true);
  }

  /** The stream is dead although it is open. */
  reopen(): void {
    if (!this.isLeader) return this.#claimSoon();
    this.#close(false);
    this.#open();
  }

  #isFollowing(): boolean {
    return this.#leader !== null && performance.now() - this.#heardAt < GONE_MS;
  }

  #beat(): void {
    if (this.isLeader) this.#send({ type: "beat", from: this.#id });
    else if (this.#isWanted && !this.#isFollowing()) this.#claimSoon();
  }

  #claimSoon(): void {
    if (this.#claim !== null || this.isLeader || !this.#isWanted) return;
    if (this.#channel === null) return this.#open();
    this.#send({ type: "claim", from: this.#id });
    this.#claim = setTimeout(() => {
      this.#claim = null;
      if (this.#isWanted && !this.#isFollowing()) this.#open();
    }, CLAIM_MS);
  }
  #cancelClaim(): void {
    if (this.#claim !== null) clearTimeout(this.#claim);
    this.#claim = null;
  }

  #take(message: Message): void {
    const { type, from } = message;
    if (type === "leave") return this.#left(from);
    if (type === "claim" || type === "hello") return this.#answer(message);
    if (this.isLeader) {
      // Two lead: both were alone for a moment.
      if (from > this.#id) return this.#send({ type: "beat", from: this.#id });
      this.#close(false);
    }
    this.#follow(from);
    if (type === "lost") this.#hooks.onLost(false);
    if (type === "event") this.#hooks.onEvent(message.name, message.data);
  }

  #answer({ type, from }: Message): void {
    if (this.isLeader) {
      this.#send({ type: "beat", from: this.#id });
      if (this.#lastStatus !== null && type === "hello") this.#pass("status", this.#lastStatus);
    } else if (type === "claim" && from < this.#id) this.#cancelClaim();
  }

  #follow(leader: string): void {
    this.#cancelClaim();
    this.#heardAt = performance.now();
    if (this.#leader === leader) return;
    this.#leader = leader;
    this.#hooks.onBegin();
  }

  #left(leader: string): void {
    if (this.#leader !== leader) return;
    this.#leader = null;
    this.#claimSoon();
  }

  #open(): void {
    this.#leader = null;
    const source = new EventSource("api/v1/events");
    this.#source = source;
    this.#hooks.onBegin();
    this.#send({ type: "beat", from: this.#id });
    for (const name of STREAM_EVENTS) {
      source.addEventListener(name, ({ data }: MessageEvent<string>) => {
        if (name === "status") this.#lastStatus = data;
        this.#pass(name, data);
        this.#hooks.onEvent(name, data);
      });
    }
    source.addEventListener("error", () => {
      this.#send({ type: "lost", from: this.#id });
      this.#hooks.onLost(source.readyState === EventSource.CLOSED);
    });
  }

  #close(tells: boolean): void {
    if (this.#source === null) return;
    this.#source.close();
    this.#source = null;
    this.#lastStatus = null;
    if (tells) this.#send({ type: "leave", from: this.#id });
  }

  #pass(name: StreamEventName, data: string): void {
    this.#send({ type: "event", from: this.#id, name, data });
  }
  #send(message: Message): void {
    this.#channel?.postMessage(message);
  }
}

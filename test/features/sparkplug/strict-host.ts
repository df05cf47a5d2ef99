import assert from "node:assert/strict";
import mqtt, { type MqttClient } from "mqtt";
import { decode, type SeenPayload, valueFields, valueOf } from "./peer.ts";

export interface HostMessage {
  readonly verb: string;
  readonly device: string | undefined;
  readonly payload: SeenPayload;
}

/** Pause after which a host whose STATE the broker refused announces it again. */
const REFUSED_RETRY_MS = 5_000;

/**
 * A primary host that records every value and holds the node to the order of births and data, seq, bdSeq, and what each message
 * must have. Its STATE is announced after it has subscribed, and taken back by its will.
 */
export class StrictHost {
  readonly faults: string[] = [];
  /** `device metric time` of every value that came in, with how often. */
  readonly values = new Map<string, number>();
  /** `contentOf` every value that came in as data. */
  readonly contents = new Set<string>();
  births = 0;
  /** How often it began to listen. */
  sessions = 0;
  readonly #listener: (message: HostMessage) => void;
  readonly #url: string;
  readonly #stateTopic: string;
  #client: MqttClient;
  #isAway = false;
  #seq: number | null = null;
  #bdSeq: unknown = null;
  /**
   * Connected anew, and no birth or death seen yet: the node may not have heard that this host was gone, and what it sends
   * until then cannot be understood. It counts as not received, so it has to come again.
   */
  #isBack = false;
  readonly #born = new Map<string, Set<string>>();
  readonly #newest = new Map<string, number>();

  /** `listener` gets every message that this host understands. */
  constructor(url: string, hostId: string, listener: (message: HostMessage) => void = () => {}) {
    this.#listener = listener;
    this.#url = url;
    this.#stateTopic = `spBv1.0/STATE/${hostId}`;
    this.#client = this.#connect();
  }

  static contentOf(device: string, metric: string, timeMs: number, value: unknown): string {
    // Of a waveform its time is enough.
    const text = value instanceof Uint8Array ? "" : JSON.stringify(value ?? null);
    return `${device} ${metric} ${timeMs} ${text}`;
  }

  #connect(): MqttClient {
    const topic = this.#stateTopic;
    const timestamp = Date.now();
    const client = mqtt.connect(this.#url, {
      protocolVersion: 5,
      reconnectPeriod: 50,
      resubscribe: false,
      will: { topic, payload: stateOf(false, timestamp), qos: 1, retain: true },
    });
    let announced = -1;
    const announce = () => {
      if (this.#isAway || client !== this.#client || !client.connected) return;
      client.publish(topic, stateOf(true, timestamp), { qos: 1, retain: true }, (error) => {
        // Otherwise it would be offline for good once the broker accepts again.
        if (error) setTimeout(announce, REFUSED_RETRY_MS).unref();
      });
      announced = client.getLastMessageId();
    };
    // Unanswered, it would go out again with the next session, before that has subscribed.
    client.on("close", () => client.removeOutgoingMessage(announced));
    client.on("connect", () => {
      if (this.#isAway || client !== this.#client) return void client.stream.destroy();
      // What was missed while away cannot be judged: the node must begin anew.
      this.#isBack ||= this.#seq !== null;
      this.#seq = null;
      this.#born.clear();
      client.subscribe("spBv1.0/plant/#", { qos: 1, rap: true }, (error) => {
        // Online without a subscription it would miss what is published.
        if (error) return void client.stream.destroy();
        this.sessions += 1;
        announce();
      });
    });
    client.on("error", () => {});
    client.on("message", (seenTopic, bytes, { qos, retain }) => {
      if (this.#isAway || client !== this.#client) return;
      const [, , verb = "", , device] = seenTopic.split("/");
      // Commands are those of hosts.
      if (verb.endsWith("CMD")) return;
      try {
        const payload = decode(bytes);
        assert.ok(!retain, `${seenTopic} is retained`);
        if (verb !== "NDEATH") assert.equal(qos, 0, seenTopic);
        inspect(seenTopic, verb, payload);
        if (this.#judge(verb, device, payload)) this.#listener({ verb, device, payload });
      } catch (err) {
        this.faults.push(err instanceof Error ? err.message : String(err));
      }
    });
    return client;
  }

  /** Its connection breaks; it comes back by itself. */
  drop(): void {
    this.#client.stream.destroy();
  }
  /** Goes offline until `comeBack`: by its will when abrupt, else by its own word. */
  leave(isAbrupt: boolean): void {
    const client = this.#client;
    this.#isAway = true;
    if (isAbrupt || !client.connected) {
      client.stream.destroy();
      client.end(true);
      return;
    }
    // Written at once and not waited for: the broker may be away.
    client.publish(this.#stateTopic, stateOf(false, Date.now()), { qos: 0, retain: true });
    client.end();
  }
  comeBack(): void {
    this.#client.end(true);
    this.#isAway = false;
    this.#client = this.#connect();
  }
  close(): Promise<void> {
    return this.#client.endAsync(true);
  }

  /** A silence is dated by the gateway's clock, which may be set back: its state in a birth replaces what was known. */
  #bear(device: string, names: readonly string[], payload: SeenPayload): void {
    this.#born.set(device, new Set(names));
    for (const { name = "", timestamp } of payload.metrics)
      if (name.startsWith("alarm/silent/")) this.#newest.set(`${device} ${name}`, timestamp ?? 0);
  }

  /** False for what this host cannot understand, since it missed how the session began. */
  #judge(verb: string, device: string | undefined, payload: SeenPayload): boolean {
    const what = `${verb} ${device ?? ""}`;
    if (verb === "NDEATH") {
      this.#isBack = false;
      assert.equal(payload.seq, undefined);
      if (valueOf(payload.metrics[0]) !== this.#bdSeq) return false;
      this.#seq = null;
      this.#born.clear();
      return true;
    }
    if (verb === "NBIRTH") {
      this.#isBack = false;
      assert.equal(payload.seq, 0);
      this.#bdSeq = valueOf(payload.metrics.find((m) => m.name === "bdSeq"));
      this.#born.clear();
      this.births += 1;
    } else if (this.#seq === null) {
      // Of a session this host did not see begin; only a primary host may rely on seeing births.
      if (!this.#isBack) this.faults.push(`${what} without an NBIRTH`);
      return false;
    } else assert.equal(payload.seq, (this.#seq + 1) % 256, `seq of ${what}`);
    this.#seq = payload.seq ?? null;
    if (device === undefined) return true;
    const names = payload.metrics.map((m) => m.name ?? "");
    if (verb === "DBIRTH") this.#bear(device, names, payload);
    if (verb === "DDEATH") assert.ok(this.#born.delete(device), `${what} of an unborn device`);
    if (verb !== "DDATA") return true;
    for (const metric of payload.metrics) {
      const name = metric.name ?? "";
      assert.ok(this.#born.get(device)?.has(name), `${what} names unborn ${name}`);
      const time = metric.timestamp ?? 0;
      const key = `${device} ${name} ${time}`;
      this.values.set(key, (this.values.get(key) ?? 0) + 1);
      this.contents.add(StrictHost.contentOf(device, name, time, valueOf(metric)));
      if (metric.isHistorical) continue;
      const before = this.#newest.get(`${device} ${name}`) ?? 0;
      assert.ok(time >= before, `${what} ${name} went back from ${before} to ${time}`);
      this.#newest.set(`${device} ${name}`, time);
    }
    return true;
  }
}

/** What every message must have, whatever came before it. */
function inspect(topic: string, verb: string, { timestamp, metrics }: SeenPayload): void {
  if (verb === "NDEATH") return;
  assert.ok(timestamp !== undefined, `${topic} has no timestamp`);
  for (const metric of metrics) {
    const what = `${topic} ${metric.name}`;
    assert.ok(metric.timestamp !== undefined, `${what} has no timestamp`);
    assert.equal(valueFields(metric).length, metric.isNull ? 0 : 1, what);
    if (verb.endsWith("BIRTH")) assert.ok((metric.datatype ?? 0) > 0, `${what} has no datatype`);
  }
  const times = metrics.flatMap((metric) => (metric.isHistorical ? [] : [metric.timestamp ?? 0]));
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
    `the order of time in ${topic}`,
  );
}

const stateOf = (online: boolean, timestamp: number) =>
  Buffer.from(JSON.stringify({ online, timestamp }));

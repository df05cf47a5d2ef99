import assert from "node:assert/strict";
import mqtt, { type MqttClient } from "mqtt";
import { decode, valueOf } from "./peer.ts";

/**
 * A primary host that records every value and holds the node to the order of births and data, seq and bdSeq. Its STATE
 * is announced after it has subscribed, and taken back by its will.
 */
export class StrictHost {
  readonly faults: string[] = [];
  /** `device metric time` of every value that came in, with how often. */
  readonly values = new Map<string, number>();
  births = 0;
  #client: MqttClient;
  #seq: number | null = null;
  #bdSeq: unknown = null;
  readonly #born = new Map<string, Set<string>>();
  readonly #newest = new Map<string, number>();

  constructor(url: string, hostId: string) {
    const topic = `spBv1.0/STATE/${hostId}`;
    const timestamp = Date.now();
    const state = (online: boolean) => Buffer.from(JSON.stringify({ online, timestamp }));
    this.#client = mqtt.connect(url, {
      reconnectPeriod: 50,
      resubscribe: false,
      will: { topic, payload: state(false), qos: 1, retain: true },
    });
    this.#client.on("connect", () => {
      // What was missed while away cannot be judged: the node must begin anew.
      this.#seq = null;
      this.#born.clear();
      this.#client.subscribe("spBv1.0/plant/#", { qos: 0 }, () => {
        this.#client.publish(topic, state(true), { qos: 1, retain: true });
      });
    });
    this.#client.on("error", () => {});
    this.#client.on("message", (seenTopic, payload) => {
      const [, , verb = "", , device] = seenTopic.split("/");
      try {
        this.#judge(verb, device, decode(payload));
      } catch (err) {
        this.faults.push(err instanceof Error ? err.message : String(err));
      }
    });
  }
  /** Its connection breaks; it comes back by itself. */
  drop(): void {
    this.#client.stream.destroy();
  }
  close(): Promise<void> {
    return this.#client.endAsync(true);
  }

  #judge(verb: string, device: string | undefined, payload: ReturnType<typeof decode>): void {
    const what = `${verb} ${device ?? ""}`;
    if (verb === "NDEATH") {
      assert.equal(payload.seq, undefined);
      if (valueOf(payload.metrics[0]) !== this.#bdSeq) return;
      this.#seq = null;
      this.#born.clear();
      return;
    }
    if (verb === "NBIRTH") {
      assert.equal(payload.seq, 0);
      this.#bdSeq = valueOf(payload.metrics.find((m) => m.name === "bdSeq"));
      this.#born.clear();
      this.births += 1;
    } else if (this.#seq === null) {
      // Of a session this host did not see begin; only a primary host may rely on seeing births.
      this.faults.push(`${what} without an NBIRTH`);
      return;
    } else assert.equal(payload.seq, (this.#seq + 1) % 256, `seq of ${what}`);
    this.#seq = payload.seq ?? null;
    if (device === undefined) return;
    const names = payload.metrics.map((m) => m.name ?? "");
    if (verb === "DBIRTH") this.#born.set(device, new Set(names));
    if (verb === "DDEATH") assert.ok(this.#born.delete(device), `${what} of an unborn device`);
    if (verb !== "DDATA") return;
    for (const metric of payload.metrics) {
      const name = metric.name ?? "";
      assert.ok(this.#born.get(device)?.has(name), `${what} names unborn ${name}`);
      const time = metric.timestamp ?? 0;
      const key = `${device} ${name} ${time}`;
      this.values.set(key, (this.values.get(key) ?? 0) + 1);
      if (metric.isHistorical) continue;
      assert.ok(time >= (this.#newest.get(`${device} ${name}`) ?? 0), `${what} went back in time`);
      this.#newest.set(`${device} ${name}`, time);
    }
  }
}

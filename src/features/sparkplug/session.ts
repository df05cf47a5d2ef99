/**
 * One MQTT session of the edge node, without any I/O. Invariants:
 * - bdSeq is the number in this session's will; births and the node's own NDEATH repeat it.
 * - seq is one counter over node and devices: 0 for the NBIRTH, then +1 modulo 256. A number is used only when its
 * message was passed to the link (`spend`), so a message that was too large leaves no gap.
 * - NBIRTH, then DBIRTHs, then data; no DATA names a metric that its last birth did not carry.
 */
import assert from "node:assert/strict";
import { encodePayload, type Metric } from "./payload.ts";
import type { NodeTopics } from "./topics.ts";

export interface Outgoing {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** To be called once the link accepted the message, before the next one is made. */
  readonly spend: () => void;
}

export const REBIRTH_METRIC = "Node Control/Rebirth";
const SEQ_COUNT = 256;

export class NodeSession {
  readonly bdSeq: number;
  readonly #topics: NodeTopics;
  #seq = 0;
  #nodeMetrics: ReadonlySet<string> | null = null;
  readonly #devices = new Map<string, ReadonlySet<string>>();

  constructor(topics: NodeTopics, bdSeq: number) {
    this.#topics = topics;
    this.bdSeq = bdSeq;
  }

  get isNodeBorn(): boolean {
    return this.#nodeMetrics !== null;
  }
  isDeviceBorn(device: string): boolean {
    return this.#devices.has(device);
  }
  get bornDevices(): string[] {
    return [...this.#devices.keys()];
  }
  /** The metrics of the device's last birth; empty if it is not born. */
  bornMetrics(device: string): ReadonlySet<string> {
    return this.#devices.get(device) ?? new Set();
  }
  /** True if the device's last birth carried this metric. */
  isMetricBorn(device: string, name: string): boolean {
    return this.#devices.get(device)?.has(name) ?? false;
  }

  /** Invalidates every birth of this session: all births are sent again. */
  nbirth(nowMs: number, metrics: readonly Metric[]): Outgoing {
    const all: Metric[] = [
      bdSeqMetric(this.bdSeq, nowMs),
      { name: REBIRTH_METRIC, type: "Boolean", timeMs: nowMs, value: false },
      ...metrics,
    ];
    return {
      topic: this.#topics.ofNode("NBIRTH"),
      payload: encodePayload({ timeMs: nowMs, seq: 0, metrics: all }),
      spend: () => {
        this.#seq = 1;
        this.#nodeMetrics = new Set(all.map((m) => m.name));
        this.#devices.clear();
      },
    };
  }
  ndata(nowMs: number, metrics: readonly Metric[]): Outgoing {
    for (const { name } of metrics) {
      assert(this.#nodeMetrics?.has(name), `NDATA of ${name} before its birth`);
    }
    return this.#numbered(this.#topics.ofNode("NDATA"), nowMs, metrics, () => {});
  }
  dbirth(nowMs: number, device: string, metrics: readonly Metric[]): Outgoing {
    assert(this.isNodeBorn, `DBIRTH of ${device} before the NBIRTH`);
    const names = new Set(metrics.map((m) => m.name));
    assert(names.size === metrics.length, `DBIRTH of ${device} names a metric twice`);
    return this.#numbered(this.#topics.ofDevice("DBIRTH", device), nowMs, metrics, () => {
      this.#devices.set(device, names);
    });
  }
  ddata(nowMs: number, device: string, metrics: readonly Metric[]): Outgoing {
    for (const { name } of metrics) {
      assert(this.isMetricBorn(device, name), `DDATA of ${device} ${name} before its birth`);
    }
    return this.#numbered(this.#topics.ofDevice("DDATA", device), nowMs, metrics, () => {});
  }
  ddeath(nowMs: number, device: string): Outgoing {
    assert(this.isDeviceBorn(device), `DDEATH of ${device} before its birth`);
    return this.#numbered(this.#topics.ofDevice("DDEATH", device), nowMs, [], () => {
      this.#devices.delete(device);
    });
  }
  /** The NDEATH that the node publishes itself; the same bytes as the will except for the time. */
  ndeath(nowMs: number): Outgoing {
    return { ...will(this.#topics, this.bdSeq, nowMs), spend: () => this.#devices.clear() };
  }

  #numbered(topic: string, nowMs: number, metrics: readonly Metric[], done: () => void): Outgoing {
    assert(this.isNodeBorn, `${topic} before the NBIRTH`);
    const seq = this.#seq;
    return {
      topic,
      payload: encodePayload({ timeMs: nowMs, seq, metrics }),
      spend: () => {
        assert.equal(this.#seq, seq, "two messages were made with one seq");
        this.#seq = (seq + 1) % SEQ_COUNT;
        done();
      },
    };
  }
}

/** The will of a CONNECT: exactly bdSeq, no seq. */
export function will(
  topics: NodeTopics,
  bdSeq: number,
  nowMs: number,
): { topic: string; payload: Uint8Array } {
  return {
    topic: topics.ofNode("NDEATH"),
    payload: encodePayload({ timeMs: nowMs, seq: null, metrics: [bdSeqMetric(bdSeq, nowMs)] }),
  };
}

function bdSeqMetric(bdSeq: number, timeMs: number): Metric {
  return { name: "bdSeq", type: "Int64", timeMs, value: bdSeq };
}

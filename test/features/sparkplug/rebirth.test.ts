import assert from "node:assert/strict";
import { test } from "node:test";
import type { LinkState } from "../../../src/core/agent-status.ts";
import type { LinkNeeds, SessionLink } from "../../../src/core/link.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { rebirth } from "./peer.ts";
import { PUMP, TestSite } from "./site.ts";

const DEVICES = 8;
const RECORDS = 3;

/** A link whose other end asks for a rebirth the moment it has been handed the message `askAt`. */
class AskingLink implements SessionLink {
  readonly sent: string[] = [];
  readonly isConnected = true;
  readonly session = 1;
  readonly inflightMax = 20;
  readonly state: LinkState = {
    name: "sparkplug",
    isConnected: true,
    url: "mqtt://127.0.0.1",
    since: null,
    lastError: null,
    refused: null,
  };
  readonly #needs: LinkNeeds;
  readonly #askAt: (verb: string, count: number) => boolean;
  readonly #closed = new AbortController();
  #hasSession = false;
  #wasAsked = false;

  constructor(needs: LinkNeeds, askAt: (verb: string, count: number) => boolean) {
    this.#needs = needs;
    this.#askAt = askAt;
  }
  run(): Promise<void> {
    return new Promise((resolve) => this.#closed.signal.addEventListener("abort", () => resolve()));
  }
  ready(signal: AbortSignal): Promise<boolean> {
    if (this.#hasSession || signal.aborted) return Promise.resolve(false);
    this.#hasSession = true;
    this.#needs.will(false);
    return Promise.resolve(true);
  }
  publish({ topic }: { readonly topic: string }) {
    const verb = topic.split("/")[2] ?? "";
    this.sent.push(verb);
    if (!this.#wasAsked && this.#askAt(verb, this.sent.filter((v) => v === verb).length)) {
      this.#wasAsked = true;
      this.sent.push("NCMD");
      this.#needs.hooks.onMessage?.({
        topic: "spBv1.0/plant/NCMD/edge",
        payload: rebirth(),
        qos: 0,
        retain: false,
      });
    }
    return Promise.resolve({ result: "delivered" as const });
  }
  prove(): Promise<boolean> {
    return Promise.resolve(true);
  }
  renew(): void {}
  leave(): Promise<void> {
    return Promise.resolve();
  }
  close(): Promise<void> {
    this.#closed.abort();
    return Promise.resolve();
  }
}

for (const [what, count] of [
  ["among live readings", 2],
  ["in the middle of a backlog", DEVICES + 3],
] as const) {
  test(`sparkplug – a rebirth requested ${what}: no data between the command and the NBIRTH, and none lost`, {
    skip: skipWithoutMosquitto,
  }, async (t) => {
    const site = await TestSite.open(t);
    const sensors = Array.from({ length: DEVICES }, (_, i) => ({ ...PUMP, code: `${100 + i}` }));
    site.states.clear();
    for (const { code: sensor } of sensors) {
      for (let i = 0; i < RECORDS; i++) site.append(site.reading({ channel1: i }, { sensor }));
    }
    const links: AskingLink[] = [];
    site.run(
      site.node(
        { site: fixedSite({ site: "s", sensors }), historyBatch: 1 },
        {
          createLink: (needs) => {
            const link = new AskingLink(needs, (verb, n) => verb === "DDATA" && n === count);
            links.push(link);
            return link;
          },
        },
      ),
    );
    await site.settled(DEVICES * RECORDS);
    const sent = links[0]?.sent ?? [];
    const asked = sent.indexOf("NCMD");
    assert.equal(sent[asked + 1], "NBIRTH");
    assert.deepEqual(sent.slice(asked + 2, asked + 2 + DEVICES), Array(DEVICES).fill("DBIRTH"));
    const settled = site.outbox.settled.filter(({ outcome }) => outcome === "sent");
    const ids = new Set(settled.map(({ entry }) => entry.reading.id));
    assert.equal(ids.size, DEVICES * RECORDS);
  });
}

/** Whoever sends signed site files over `main`: a document has one outcome, however often it is asked for, and the file is what it says. */
import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { Site } from "../../src/core/site.ts";
import { type RefusalReason, signDocument } from "../../src/features/setup/signed-document.ts";
import { PLANT_SITE } from "../chaos/events.ts";
import { SeededRandom } from "../chaos/random.ts";
import type { SiteFile } from "../chaos/site-file.ts";
import type { Broker, Message } from "./broker.ts";
import { type Happening, HOUR_MS, MINUTE_MS } from "./happenings.ts";
import type { World } from "./world.ts";

const TOPIC = `gateside/${PLANT_SITE}/agent/cmd/site`;
const RESULT = `${TOPIC}/result`;
/** Of PKCS #8, before the 32 bytes of an Ed25519 key. */
const KEY_PREFIX = "302e020100300506032b657004220420";
/** Long after every clock of a trial. */
const NOT_AFTER_MS = Date.UTC(2150, 0, 1);
/** How long it is asked for the last one's outcome: everything has healed. */
const ASK_MS = HOUR_MS;

interface Result {
  readonly outcome: "trial" | "refused" | "applied" | "rolled_back" | "superseded";
  readonly reason: RefusalReason | "trial" | null;
  readonly version: number | null;
}

interface Sent {
  readonly version: number;
  readonly text: string;
  readonly site: Site;
  /** The file as it was when the document was sent, and how often the plant's people had written it. */
  before: Site;
  readonly writes: number;
}

/** The same one in every trial: its public half is the box's. */
function keyOf(seed: number): KeyObject {
  const secret = Buffer.alloc(32, `${seed}`);
  const key = Buffer.concat([Buffer.from(KEY_PREFIX, "hex"), secret]);
  return createPrivateKey({ key, format: "der", type: "pkcs8" });
}

export class Documents {
  readonly failures: string[] = [];
  readonly #world: World;
  readonly #broker: Broker;
  readonly #siteFile: SiteFile;
  readonly #key: KeyObject;
  #version = 0;
  /** The last one that the box could accept. */
  #last: Sent | null = null;
  readonly #outcomes = new Map<number, Result["outcome"]>();
  /** Of the version that is asked for, since it was asked. */
  #answer: Result | null = null;

  constructor(world: World, broker: Broker, siteFile: SiteFile, seed: number) {
    this.#world = world;
    this.#broker = broker;
    this.#siteFile = siteFile;
    this.#key = keyOf(seed);
  }

  writeKey(path: string): void {
    writeFileSync(path, createPublicKey(this.#key).export({ type: "spki", format: "pem" }));
  }

  send({ change, damage, draw }: Happening & { name: "document sent" }): void {
    const random = new SeededRandom(draw);
    const proposal = this.#siteFile.proposal(change, random);
    if (proposal === null) return;
    const site = damage === "unread" ? withUnknownCode(proposal, this.#siteFile) : proposal;
    const version = ++this.#version;
    const text = signDocument(
      {
        site: damage === "elsewhere" ? "another" : PLANT_SITE,
        version,
        notAfterMs: NOT_AFTER_MS,
        content: { site },
      },
      damage === "unsigned" ? keyOf(draw) : this.#key,
    );
    if (damage === null || damage === "unread")
      this.#last = {
        version,
        text,
        site,
        before: this.#now(),
        writes: this.#siteFile.writes,
      };
    this.#publish(text);
  }

  #publish(text: string): void {
    this.#broker.accept({ topic: TOPIC, payload: Buffer.from(text), qos: 1, retain: false });
  }

  /** One message of the agent. */
  take({ topic, payload }: Pick<Message, "topic" | "payload">): void {
    if (topic !== RESULT) return;
    const result: Result = JSON.parse(payload.toString());
    const { version, outcome } = result;
    if (version === this.#last?.version) this.#answer = result;
    if (version === null || outcome === "trial" || outcome === "refused") return;
    const before = this.#outcomes.get(version);
    if (before !== undefined && before !== outcome)
      this.failures.push(`document ${version} was ${before}, then ${outcome}`);
    this.#outcomes.set(version, outcome);
  }

  /** Once everything has healed: the last one is sent again until it has an outcome, as a sender would. */
  async settle(): Promise<void> {
    const last = this.#last;
    if (last === null) return;
    const endMs = this.#world.nowMs + ASK_MS;
    do {
      this.#answer = null;
      // It was refused while an earlier one was on trial, which has gone since.
      const now = this.#now();
      if (!isSame(now, last.site)) last.before = now;
      this.#publish(last.text);
      await this.#world.sleep(MINUTE_MS);
      if (this.#world.nowMs > endMs) {
        this.failures.push(
          `document ${last.version} has no outcome: ${JSON.stringify(this.#answer)}`,
        );
        return;
      }
    } while (!this.#isSettled);
    this.#compare(last);
  }

  /** Refused for what another document or a person did is an outcome; refused because one is on trial is none. */
  get #isSettled(): boolean {
    const answer = this.#answer as Result | null;
    return answer !== null && answer.outcome !== "trial" && answer.reason !== "trial_running";
  }

  #compare({ version, site, before, writes }: Sent): void {
    const outcome = this.#outcomes.get(version);
    if (outcome === undefined || outcome === "superseded") return;
    if (this.#siteFile.writes !== writes) return;
    if (!isSame(this.#now(), outcome === "applied" ? site : before))
      this.failures.push(`document ${version} was ${outcome}, and the site file is another one`);
  }

  #now(): Site {
    return JSON.parse(readFileSync(this.#siteFile.path, "utf8"));
  }
}

/** As text in a file. */
function isSame(inFile: Site, site: Site): boolean {
  return isDeepStrictEqual(inFile, JSON.parse(JSON.stringify(site)));
}

/** The first sensor has a code that the gateway does not know: it can have no records. */
function withUnknownCode(site: Site, { changed }: SiteFile): Site {
  const [first, ...rest] = site.sensors;
  if (first === undefined) return site;
  changed.add(first.code);
  return { ...site, sensors: [{ ...first, code: "999000111" }, ...rest] };
}

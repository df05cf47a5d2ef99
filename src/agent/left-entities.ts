/**
 * Home Assistant's entities, and what is retained about machines, of an uplink that was removed, or moved to another
 * broker, while the agent was stopped: its own session no longer exists, so another uplink at that broker clears them.
 * Where there is none, nobody has the credentials any more; that is said, with the topics.
 */

import { isEntity, profileOf } from "../config/profiles.ts";
import { shareBroker } from "../config/uplinks-sessions.ts";
import type { Message, PublishOutcome } from "../core/message.ts";
import { keptTopics, parsedObject } from "../core/parsed-json.ts";
import type { Runtime } from "../core/ports.ts";
import { isJsonObject } from "../core/record.ts";
import { machinesKey } from "../core/site-machines.ts";
import type { Uplink } from "../core/uplink.ts";
import type { Feature } from "../features/feature.ts";
import type { Meta } from "../pipeline/store/database/meta.ts";

/** Where the store records what is retained at the broker about sensors. */
export const announcedKey = (uplink: string) => `announced:${uplink}`;
/** Where it records at which addresses that broker is, by uplink. */
const PLACES = "announced_at";
/** Where it records what is still to be cleared at brokers that were left: an uplink's own records are then of its new one. */
const LEFT = "announced_left";
const RETRY_MS = 5_000;

interface Left {
  readonly uplink: string;
  readonly urls: readonly string[];
  readonly topics: readonly string[];
}

export interface LeftEntitiesParts extends Runtime {
  readonly features: () => readonly Pick<Feature, "heldBeside">[];
  readonly store: { readonly meta: Pick<Meta, "get" | "keep"> };
}

const keptAddresses = (list: unknown): readonly string[] =>
  Array.isArray(list) ? list.filter((one) => typeof one === "string" && URL.canParse(one)) : [];

const mayClear = ({ formats }: Uplink) => formats.some((format) => format !== "sparkplug");

const hasEntities = (uplink: Uplink) =>
  profileOf(uplink.profile)?.entities !== undefined && mayClear(uplink);

/** For a warning about machines of which something stays retained. @param topics at least one */
export function stayingMachines(urls: readonly string[], topics: readonly string[]) {
  const [example = ""] = topics;
  return [
    { urls, topics: topics.length, example },
    `what was retained about machines stays at a broker that this agent has left: clear each with \`mosquitto_pub -h BROKER -r -n -t '${example}'\``,
  ] as const;
}

export class LeftEntities {
  readonly #parts: LeftEntitiesParts;
  #left: readonly Left[] = [];

  constructor(parts: LeftEntitiesParts) {
    this.#parts = parts;
  }

  /** At the start, before any session records what it publishes. */
  open(uplinks: readonly Uplink[]): void {
    const recorded = Object.entries(this.#read(PLACES)).map(([uplink, urls]) => {
      return { uplink, urls: keptAddresses(urls), topics: this.#topicsOf(uplink) };
    });
    const all = new Map<string, Left>();
    for (const { uplink, urls, topics } of [...this.#leftBefore(), ...recorded]) {
      const there = uplinks.filter((one) => shareBroker(one, { urls }));
      const isThere = there.some(({ name }) => name === uplink);
      const staying = topics.filter((topic) =>
        isEntity(topic) ? !there.some(hasEntities) : !isThere,
      );
      const key = JSON.stringify([uplink, urls]);
      const known = all.get(key)?.topics ?? [];
      all.set(key, { uplink, urls, topics: [...new Set([...known, ...staying])] });
    }
    this.#left = [...all.values()].filter(({ topics }) => topics.length > 0);
    this.follow(uplinks);
  }

  /** What the process before had not cleared yet. */
  #leftBefore(): Left[] {
    const { left } = this.#read(LEFT);
    return (Array.isArray(left) ? left : []).filter(isJsonObject).map((one) => ({
      uplink: String(one["uplink"]),
      urls: keptAddresses(one["urls"]),
      topics: keptTopics(one["topics"]),
    }));
  }

  #topicsOf(uplink: string): string[] {
    const standing = Object.values(this.#read(announcedKey(uplink)));
    const ofMachines = Object.values(this.#read(machinesKey(uplink))).flatMap(keptTopics);
    const topics = standing.flatMap((one) =>
      isJsonObject(one) ? keptTopics(one["descriptions"]) : [],
    );
    return [...topics.filter(isEntity), ...ofMachines];
  }

  /** Damaged text is no reason not to start. */
  #read(key: string): Readonly<Record<string, unknown>> {
    const kept = parsedObject(this.#parts.store.meta.get(key) ?? "{}");
    if (kept === null) this.#parts.logger.warn({ key }, "what was published earlier is unknown");
    return kept ?? {};
  }

  /** From now on these uplinks: one that leaves by a reload clears its own. */
  follow(uplinks: readonly Uplink[]): void {
    const current = uplinks
      .filter((one) => mayClear(one) && (hasEntities(one) || one.machines))
      .map(({ name, urls }) => [name, urls] as const);
    // First what is left: it is not known from its uplink's own records any more.
    this.#keep(LEFT, this.#left.length === 0 ? {} : { left: this.#left });
    this.#keep(PLACES, Object.fromEntries(current));
  }

  #keep(key: string, content: object): void {
    const { meta } = this.#parts.store;
    const text = JSON.stringify(content);
    if (text === (meta.get(key) ?? "{}")) return;
    meta
      .keep(key, text)
      .catch((err: unknown) =>
        this.#parts.logger.warn({ err }, "where entities were published is not recorded"),
      );
  }

  /** `publish` uses the session of an uplink; null if it has none that can. */
  async run(
    uplinks: () => readonly Uplink[],
    publish: (uplink: string, message: Message) => Promise<PublishOutcome> | null,
    signal: AbortSignal,
  ): Promise<void> {
    for (const left of this.#left) {
      const staying = await this.#clear(left, uplinks, publish, signal);
      if (signal.aborted) return;
      const { uplink, urls } = left;
      const entities = staying.filter(isEntity);
      const others = staying.filter((topic) => !isEntity(topic));
      if (others.length > 0) this.#parts.logger.warn(...stayingMachines(urls, others));
      if (entities.length > 0)
        this.#parts.logger.warn(
          { uplink, urls, topics: entities.length, example: entities[0] },
          "entities of a former uplink stay in Home Assistant, because no uplink publishes at their broker any more, or it refuses: delete the device there",
        );
      this.#left = this.#left.filter((one) => one !== left);
      this.follow(uplinks());
    }
  }

  /** Returns the topics that stay: no uplink publishes at that broker any more, or it refuses. */
  async #clear(
    { uplink, urls, topics }: Left,
    uplinks: () => readonly Uplink[],
    publish: (uplink: string, message: Message) => Promise<PublishOutcome> | null,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { clock, features, logger } = this.#parts;
    const staying: string[] = [];
    let isSure = true;
    for (const waiting = new Set(topics); waiting.size > 0; ) {
      const told = new Set(
        features().flatMap((one) => [
          ...(one.heldBeside?.({ name: uplink, urls }, uplinks()) ?? []),
        ]),
      );
      for (const topic of waiting) {
        const message = { topic, payload: "", qos: 1, retain: true } as const;
        const heirs = uplinks().filter((one) => mayClear(one) && shareBroker(one, { urls }));
        if (heirs.length === 0) return [...staying, ...waiting];
        // MQTT 3.1.1 acknowledges what it refuses.
        isSure &&= heirs.every(({ version }) => version === 5);
        if (!told.has(topic)) {
          const sent = heirs.map(({ name }) => publish(name, message)).find((one) => one !== null);
          // No session: a reload is building it anew, or the site has no name yet.
          const { result } = (await sent) ?? { result: "lost" };
          if (result === "lost") break;
          if (result !== "delivered") staying.push(topic);
        }
        waiting.delete(topic);
      }
      if (waiting.size > 0) await clock.sleep(RETRY_MS, signal);
      if (signal.aborted) return [];
    }
    if (staying.length === 0)
      logger.info(
        { uplink, topics: topics.length, example: topics[0] },
        isSure
          ? "what a former uplink retained is cleared"
          : "what a former uplink retained is cleared, if the broker allows it: MQTT 3.1.1 does not say",
      );
    return staying;
  }
}

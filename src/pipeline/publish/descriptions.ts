/**
 * Keeps the broker's retained messages about sensors in step with the site file: descriptions are sent once per session
 * and when they change, and everything published about a removed sensor is cleared. What may be retained at the broker
 * is recorded before it is sent, so that it is cleared even after a restart in between.
 */

import type { Message } from "../../core/message.ts";
import { intactJson } from "../../core/parsed-json.ts";
import type { Clock, Logger, MessageLink } from "../../core/ports.ts";
import { type Kind, readingKinds, type Sensor } from "../../core/sensor.ts";
import { type Site } from "../../core/site.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { trySave } from "../../lib/try-save.ts";
import type { PayloadProfile } from "./formats/profile.ts";
import {
  AGENT,
  allTopics,
  type KnownEntry,
  keptEntry,
  merged,
  type Standing,
} from "./standing-topics.ts";
import type { Turns } from "./turns.ts";

export interface DescriptionsParts {
  readonly link: Pick<MessageLink, "session">;
  /** Gives way to the newest readings. */
  readonly turns: Pick<Turns, "publish">;
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: Logger;
  readonly profile: PayloadProfile;
  readonly site: SiteSource;
  /** Survives the process; may throw if the disk does not accept it. */
  readonly memory: { load(): string | null; readonly save: (text: string) => void };
  /** Newest stored reading time, ms; null if none. */
  readonly newestTimeMs: (sensor: string, kind: Kind) => number | null;
}

export interface DescriptionsOptions {
  /** Readings of a removed sensor, and of a removed kind, are cleared with its state; without it, only plain values. */
  readonly clearReadings: boolean;
  /** The sensors of this uplink. */
  readonly isSelected: (sensor: Sensor) => boolean;
}

/** After a refusal. */
const RETRY_MS = 300_000;

export class Descriptions {
  readonly #parts: DescriptionsParts;
  readonly #options: DescriptionsOptions;
  #standing: Standing | null = null;
  #saved = "";
  /** That text says it. */
  #savedStanding: Standing | null = null;
  /** Topic → payload that the broker has acknowledged in this session. */
  readonly #published = new Map<string, Message["payload"]>();
  readonly #trySave: (text: string) => boolean;
  /** By code, as their descriptions in it say: a reload that changes one of thousands describes one. */
  readonly #described = new Map<string, Sensor>();
  readonly #entries = new WeakMap<Sensor, KnownEntry>();
  /** Topics that the broker refused; tried again after a while, because its access list may be corrected meanwhile. */
  readonly #refused = new Map<string, Message["payload"]>();
  #retryAt = 0;
  #site: Site | null = null;
  /** In which everything has been sent. */
  #session = -1;
  /** In which `#published` was sent. */
  #publishing = -1;
  #hasAnnounced = false;

  constructor(parts: DescriptionsParts, options: DescriptionsOptions) {
    this.#parts = parts;
    this.#options = options;
    const line = "sensor descriptions wait until the store is writable";
    this.#trySave = trySave(parts, parts.memory.save, line);
  }

  /** All of them again at the next `sync`: a subscriber that stores nothing has restarted. */
  renew(): void {
    this.#session = -1;
    this.#publishing = -1;
  }

  /** Deletes the entities that others made from what is retained: the uplink leaves its broker. */
  entitiesRemoved(): readonly Message[] {
    const { profile } = this.#parts;
    const topics = Object.values(this.#standing ?? this.#load()).flatMap((one) => one.descriptions);
    return topics.filter((topic) => profile.isEntity?.(topic)).map(cleared);
  }

  /**
   * Sends what is missing or different; cheap if nothing is. What is lost is sent at the next call. Returns whether
   * entities were announced: what they listen to was sent before they did.
   * @param afterAgent describes what refers to the box, and what sensors refer to
   */
  async sync(afterAgent: () => Promise<void> = () => Promise.resolve()): Promise<boolean> {
    this.#hasAnnounced = false;
    await this.#sync(afterAgent);
    return this.#hasAnnounced;
  }

  async #sync(afterAgent: () => Promise<void>): Promise<void> {
    const { link, site, profile } = this.#parts;
    const { current } = site;
    const { session } = link;
    const isDone = current === this.#site && session === this.#session;
    const isRetry = this.#refused.size > 0 && this.#parts.clock.monotonic() >= this.#retryAt;
    if (isDone && !isRetry) return afterAgent();
    const isNewSession = session !== this.#session && session !== this.#publishing;
    if (isRetry) this.#refused.clear();
    if (isNewSession) this.#published.clear();
    if (isRetry || isNewSession) this.#described.clear();
    this.#publishing = session;
    const sensors = current.sensors.filter((sensor) => this.#options.isSelected(sensor));
    const before = this.#standing ?? this.#load();
    const now = this.#standingOf(sensors);
    if (!this.#save(merged(before, now))) return afterAgent();
    const fresh = sensors.filter((sensor) => this.#described.get(sensor.code) !== sensor);
    const isAgentPublished = await this.#publish(profile.describeAgent());
    await afterAgent();
    const messages = fresh.flatMap((sensor) => profile.describe(sensor));
    const isPublished = isAgentPublished && (await this.#publish(messages));
    if (isPublished) for (const sensor of fresh) this.#described.set(sensor.code, sensor);
    const isTakenBack = isPublished && (await this.#takeBack(before, now));
    if (!isTakenBack || !this.#save(now)) {
      this.#standing = merged(before, now);
      return;
    }
    this.#standing = now;
    this.#site = current;
    this.#session = session;
  }

  #standingOf(sensors: readonly Sensor[]): Standing {
    const { profile } = this.#parts;
    const retained = profile
      .describeAgent()
      .filter(({ retain, topic }) => retain || profile.isEntity?.(topic));
    const agent = {
      state: [],
      descriptions: retained.map(({ topic }) => topic),
      readings: [],
      values: [],
    };
    return Object.fromEntries([
      [AGENT, { ...agent, kinds: [] }],
      ...sensors.map((sensor) => [sensor.code, this.#entryOf(sensor)]),
    ]);
  }

  #entryOf(sensor: Sensor): KnownEntry {
    const known = this.#entries.get(sensor);
    if (known !== undefined) return known;
    const topics = this.#parts.profile.retainedTopics(sensor);
    const readings = this.#options.clearReadings ? topics.readings : [];
    const entry = { ...topics, readings, kinds: readingKinds(sensor) };
    this.#entries.set(sensor, entry);
    return entry;
  }

  #load(): Standing {
    const { memory, logger } = this.#parts;
    try {
      const text = memory.load();
      if (text === null) return {};
      this.#saved = text;
      const entries = Object.entries(intactJson<Readonly<Record<string, unknown>>>(text));
      return Object.fromEntries(entries.map(([code, entry]) => [code, keptEntry(entry)]));
    } catch (err) {
      logger.warn({ err }, "previously published descriptions are unknown");
      return {};
    }
  }

  /** False if the disk does not accept it: nothing is published that could not be cleared. */
  #save(standing: Standing): boolean {
    if (standing === this.#savedStanding) return true;
    const text = JSON.stringify(standing);
    if (text === this.#saved) return true;
    if (!this.#trySave(text)) return false;
    this.#saved = text;
    this.#savedStanding = standing;
    return true;
  }

  /** False if the connection ended. */
  async #publish(messages: readonly Message[]): Promise<boolean> {
    const news = messages.filter(
      ({ topic, payload }) =>
        this.#published.get(topic) !== payload && this.#refused.get(topic) !== payload,
    );
    return this.#send(news, ({ topic, payload }) => {
      this.#published.set(topic, payload);
      this.#hasAnnounced ||= this.#parts.profile.isEntity?.(topic) === true;
    });
  }

  /** Publishes `removed` for a removed sensor to current subscribers; then nothing of it stays retained. */
  async #takeBack(before: Standing, now: Standing): Promise<boolean> {
    const { profile, newestTimeMs } = this.#parts;
    const changed = Object.entries(before).filter(
      ([code, entry]) => !Object.hasOwn(now, code) || now[code] !== entry,
    );
    if (changed.length === 0) return true;
    const kept = new Set(Object.values(now).flatMap(allTopics));
    for (const [code, topics] of changed) {
      const isGone = !Object.hasOwn(now, code);
      if (isGone) {
        this.#described.delete(code);
        const times = topics.kinds.map(
          (kind) => newestTimeMs(code, kind) ?? Number.NEGATIVE_INFINITY,
        );
        const newest = Math.max(...times);
        const lastReadingMs = Number.isFinite(newest) ? newest : null;
        const words = profile.sensorState({
          code,
          state: "removed",
          lastReadingMs,
          batteryV: null,
        });
        // Its former state topic: the parts of the topic may have been removed with the sensor.
        const own = topics.state.flatMap((topic) => words.map((word) => ({ ...word, topic })));
        if (!(await this.#send(own.length > 0 ? own : words))) return false;
        if (!(await this.#send(profile.farewell(code)))) return false;
      }
      const old = allTopics(topics).filter((topic) => !kept.has(topic));
      if (!(await this.#send(old.map(cleared), ({ topic }) => this.#published.delete(topic))))
        return false;
    }
    return true;
  }

  async #send(
    messages: readonly Message[],
    onTaken: (message: Message) => void = () => {},
  ): Promise<boolean> {
    const { clock, turns, logger } = this.#parts;
    const outcomes = await turns.publish(messages);
    for (const [i, message] of messages.entries()) {
      const outcome = outcomes[i];
      if (outcome === undefined || outcome.result === "lost") continue;
      if (outcome.result !== "delivered") {
        logger.warn({ topic: message.topic, ...outcome }, "the broker refuses this message");
        this.#refused.set(message.topic, message.payload);
        this.#retryAt = clock.monotonic() + RETRY_MS;
        continue;
      }
      onTaken(message);
    }
    return outcomes.every(({ result }) => result !== "lost");
  }
}

/** An empty retained payload: the broker deletes its retained message. */
const cleared = (topic: string): Message => ({ topic, payload: "", qos: 1, retain: true });

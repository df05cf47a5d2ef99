/** The running uplinks: sessions by name, added and removed while the agent runs. */
import { isDeepStrictEqual } from "node:util";
import type { BufferState, LinkStatus, PublishTrial } from "../core/agent-status.ts";
import { keepsSession } from "../core/configuration/configuration.ts";
import { isUnnamed } from "../core/configuration/empty-site.ts";
import { changedFields } from "../core/configuration/site-difference.ts";
import { backlogOf } from "../core/delivery/backlog.ts";
import type { Lane } from "../core/delivery/delivery.ts";
import { isWaveform, type LaneChange } from "../core/delivery/lane-plan.ts";
import type { Message, PublishOutcome } from "../core/message.ts";
import { hasMachines, MAIN_UPLINK, type Uplink } from "../core/uplink.ts";
import type { Destination } from "../features/sessions.ts";
import { aborted } from "../lib/aborted.ts";
import { SentStates } from "../pipeline/publish/other-agents.ts";
import { LeftSensors } from "../pipeline/store/site-memory/left-sensors.ts";
import { outboxUplink } from "./assemble.ts";
import { type DestinationParts, REMOVED } from "./destination.ts";
import { doctorMessage, tryDestination } from "./doctor-publish.ts";
import { createLane } from "./lane.ts";
import { LeftEntities } from "./left-entities.ts";
import { mqttDestination } from "./mqtt-destination.ts";
import type { RunningUplinks } from "./reload.ts";

/** Longest wait for the acknowledgement of a trial. */
const PUBLISH_TRIAL_MS = 8_000;

interface RunningUplink {
  readonly uplink: Uplink;
  readonly destinations: readonly Destination[];
  readonly stopping: AbortController;
  /** Ends when its destinations have ended. */
  done: Promise<void>;
}

export type UplinkParts = Omit<DestinationParts, "states" | "uplinks">;

export class Uplinks {
  readonly #parts: UplinkParts;
  readonly #running = new Map<string, RunningUplink>();
  readonly #states = new SentStates();
  readonly #leftEntities: LeftEntities;
  readonly #leftSensors: LeftSensors;
  #uplinks: readonly Uplink[];
  /** The next ones while they change: what leaves then asks who stays. */
  #wanted: readonly Uplink[];
  #signal: AbortSignal | null = null;
  #fail: (error: unknown) => void = () => {};
  /** One change after the other. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(parts: UplinkParts, uplinks: readonly Uplink[]) {
    this.#parts = parts;
    this.#wanted = this.#uplinks = uplinks;
    this.#leftEntities = new LeftEntities(parts);
    this.#leftSensors = new LeftSensors(parts.store.meta, parts.logger);
  }

  /** Builds the sessions, which reads the files of their certificates; `run` connects them. */
  async open(): Promise<void> {
    this.#leftEntities.open(this.#uplinks);
    // The outbox's lanes are created in any case; sessions wait for the site's name, which is part of their topics.
    for (const uplink of this.#isNamed ? this.#uplinks : [])
      this.#running.set(uplink.name, await this.#build(uplink));
    await this.#fileLeft();
    // An uplink selects by areas and machines of the site file.
    this.#parts.site.onChange(() => this.#file(this.#uplinks));
  }

  /** Sensors may have left the site file while the agent was stopped; the end of their alarms comes now. */
  async #fileLeft(): Promise<void> {
    const { logger, site, store } = this.#parts;
    const { sensors } = site.current;
    if (this.#leftSensors.with(site.current).length === sensors.length) return;
    try {
      await store.watch.whyUnwritable();
      this.#file(this.#uplinks);
    } catch (err) {
      // A full disk must not keep the agent from starting.
      logger.warn({ err }, "alarms of removed sensors may stay at uplinks that select by machines");
    }
  }

  get current(): readonly Uplink[] {
    return this.#uplinks;
  }

  get #isNamed(): boolean {
    return !isUnnamed(this.#parts.site.current);
  }

  /** Those of the uplinks file: `main` changes only with a restart, the first site file, and renewed credentials. */
  get others(): RunningUplinks {
    const isOther = ({ name }: Uplink) => name !== MAIN_UPLINK;
    const all = () => this.#uplinks;
    return {
      get current() {
        return all().filter(isOther);
      },
      get main() {
        return all().find((one) => !isOther(one)) ?? null;
      },
      replace: async (uplinks) => {
        const isWhole = uplinks.some((one) => !isOther(one));
        const main = isWhole ? [] : this.#uplinks.filter((one) => !isOther(one));
        await this.set([...main, ...uplinks]);
      },
    };
  }

  /** Every session, with its pending readings. */
  links({ lanes }: BufferState): LinkStatus[] {
    return this.#each(({ uplink }, { state, delivered, failures }) => {
      const isOwn = (name: string, lane: Lane) =>
        name === uplink.name &&
        !isWaveform(lane) &&
        (lane === "sparkplug") === (state.name === "sparkplug");
      const { readings, oldestTimeMs } = backlogOf(lanes, isOwn);
      return {
        ...state,
        uplink: uplink.name,
        machines: hasMachines(uplink),
        delivered,
        failures: { ...failures },
        pending: readings,
        oldestTimeMs,
      };
    });
  }

  /** What `doctor` shows of every session. */
  async tryPublish(): Promise<PublishTrial[]> {
    const { clock, site } = this.#parts;
    const done = new AbortController();
    const ended = clock.sleep(PUBLISH_TRIAL_MS, done.signal).then(() => null);
    const trials = await Promise.all(
      this.#each(({ uplink }, destination) =>
        tryDestination(uplink, destination, doctorMessage(uplink, site.current), ended),
      ),
    );
    done.abort();
    return trials;
  }

  get delivered(): number {
    return this.#each((_, { delivered }) => delivered).reduce((sum, one) => sum + one, 0);
  }

  #each<T>(visit: (running: RunningUplink, destination: Destination) => T): T[] {
    return [...this.#running.values()].flatMap((running) =>
      running.destinations.map((destination) => visit(running, destination)),
    );
  }

  /** Runs until aborted. Rejects if a session's loop fails or ends unexpectedly, which is our fault. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const failed = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    for (const running of this.#running.values()) this.#start(running, signal);
    this.#leftEntities
      .run(
        () => this.#uplinks,
        (name, message) => this.#publish(name, message),
        signal,
      )
      .catch(this.#fail);
    await Promise.race([aborted(signal), failed]);
    await this.#changing.catch(() => {});
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** In the session of an uplink; null if it has none that publishes single messages. */
  #publish(name: string, message: Message): Promise<PublishOutcome> | null {
    const destinations = this.#running.get(name)?.destinations ?? [];
    const one = destinations.find(({ publish }) => publish !== undefined);
    return one?.publish?.(message) ?? null;
  }

  async #build(uplink: Uplink): Promise<RunningUplink> {
    const destinations: Destination[] = [];
    const own = { states: this.#states, uplinks: () => this.#wanted };
    const parts = { ...this.#parts, ...own };
    if (uplink.formats.some((format) => format !== "sparkplug"))
      destinations.push(mqttDestination(uplink, parts));
    for (const feature of parts.features()) {
      const destination = await feature.open?.(uplink, () => createLane(uplink, parts));
      if (destination) destinations.push(destination);
    }
    return {
      uplink,
      destinations,
      stopping: new AbortController(),
      done: Promise.resolve(),
    };
  }

  #start(running: RunningUplink, signal: AbortSignal): void {
    const { destinations, stopping } = running;
    const both = AbortSignal.any([signal, stopping.signal]);
    const loops = destinations.map((destination) =>
      destination.run(both).then(
        () => {
          if (!both.aborted) this.#fail(new Error("a loop ended unexpectedly"));
        },
        (error: unknown) => this.#fail(error),
      ),
    );
    running.done = Promise.all(loops).then(() => {});
  }

  /** Publishes the farewell at every broker. */
  async close(reason: string): Promise<void> {
    await Promise.allSettled(this.#each((_, destination) => destination.close(reason)));
  }

  /**
   * From now on these uplinks, and no others. Sessions of unchanged uplinks continue. Returns what happens to the
   * lanes. Rejects with StoreFailure if that cannot be written; the former uplinks then run again.
   */
  set(uplinks: readonly Uplink[]): Promise<readonly LaneChange[]> {
    const change = this.#changing.then(() => this.#set(uplinks));
    this.#changing = change.catch(() => {});
    return change;
  }

  async #set(uplinks: readonly Uplink[]): Promise<readonly LaneChange[]> {
    const leaving = [...this.#running.values()].filter(({ uplink }) => {
      if (!this.#isNamed) return true;
      const next = uplinks.find(({ name }) => name === uplink.name);
      return next === undefined || !keepsSession(changedFields(uplink, next));
    });
    const former = this.#uplinks;
    this.#wanted = uplinks;
    await Promise.all(
      leaving.map(async ({ uplink, destinations, stopping, done }) => {
        const next = uplinks.find(({ name }) => name === uplink.name);
        const isGone = next === undefined || !isDeepStrictEqual(next.urls, uplink.urls);
        stopping.abort();
        await done;
        await Promise.allSettled(
          destinations.map((one) => one.close(isGone ? REMOVED : "reconfigured")),
        );
        this.#running.delete(uplink.name);
      }),
    );
    try {
      // A session takes a while to close: another program may have locked the store since the reload asked.
      await this.#parts.store.watch.whyUnwritable();
      const changes = this.#file(uplinks);
      await this.#open(uplinks);
      return changes;
    } catch (error) {
      await this.#open(former);
      throw error;
    }
  }

  #file(uplinks: readonly Uplink[]): readonly LaneChange[] {
    const { store, site } = this.#parts;
    const sensors = this.#leftSensors.with(site.current);
    return store.setUplinks(uplinks.map((uplink) => outboxUplink(uplink, sensors)));
  }

  /** Starts those that are not running yet, in the order of the list. */
  async #open(uplinks: readonly Uplink[]): Promise<void> {
    this.#wanted = this.#uplinks = uplinks;
    const former = new Map(this.#running);
    const running = await Promise.all(
      (this.#isNamed ? uplinks : []).map(async (uplink) => {
        const known = former.get(uplink.name);
        return known === undefined ? await this.#build(uplink) : { ...known, uplink };
      }),
    );
    this.#running.clear();
    for (const one of running) {
      this.#running.set(one.uplink.name, one);
      const isNew = !former.has(one.uplink.name);
      if (isNew && this.#signal !== null && !this.#signal.aborted) this.#start(one, this.#signal);
    }
    this.#leftEntities.follow(uplinks);
  }
}

/**
 * The machines of one uplink: describes them, publishes their conditions at their pace, and takes back what it retained
 * about those that have gone, whatever took them away. What may be retained is recorded before it is sent.
 */
import type { Message } from "../../core/message.ts";
import type { MessageLink, Runtime } from "../../core/ports.ts";
import { type SiteMachine, siteMachines } from "../../core/site-machines.ts";
import { fromSite, type SiteSource } from "../../core/site-source.ts";
import type { Uplink } from "../../core/uplink.ts";
import { BATCH, type Turns } from "../../pipeline/publish/turns.ts";
import type { MachineMessages } from "../formats.ts";
import type { MachineConditions, MachineNow } from "./machine-conditions.ts";
import type { MachineTimes } from "./machine-times.ts";
import { merged, type Recorded, RecordedTopics, type RecordMemory } from "./recorded-topics.ts";
import {
  dailyMs,
  dueAt,
  isUnsure,
  looked,
  type MachinePace,
  OTHERS_MS,
  type SentMachine,
  sentNow,
} from "./rules/machine-pace.ts";
import { type MachineKeys, machineKeys, type PublishedMachine } from "./rules/machine-payload.ts";

export interface MachineBoardParts extends Runtime {
  readonly link: MessageLink;
  /** Gives way to the newest readings. */
  readonly turns: Pick<Turns, "next" | "publish">;
  readonly site: SiteSource;
  readonly conditions: Pick<MachineConditions, "current" | "onLook" | "want">;
  readonly messages: MachineMessages<PublishedMachine>;
  readonly times: Pick<MachineTimes, "take">;
  readonly memory: RecordMemory;
}

export interface MachineBoardOptions extends MachinePace {
  /** False: this uplink has no machines, and only takes back those that it had. */
  readonly isOn: boolean;
  readonly isCompact: boolean;
  /** False: the broker keeps nothing. */
  readonly isRetained: boolean;
  /** The machines of this uplink. */
  readonly isSelected: (machine: SiteMachine) => boolean;
  /** Topics cannot be cleared there. */
  readonly hasFixedTopics: boolean;
}

/** Between messages in which no member of a change differs, ms. */
export function othersMs({
  compact,
  everyS,
  onChange,
}: Pick<Uplink, "compact" | "everyS" | "onChange">): number | null {
  if (compact) return null;
  if (everyS === null && onChange === null) return OTHERS_MS;
  const leastS = onChange?.atLeastEveryS ?? null;
  const changeMs = onChange === null ? 0 : leastS === null ? OTHERS_MS : leastS * 1000;
  return Math.max((everyS ?? 0) * 1000, changeMs);
}

/** Between looks at what is due. */
const TICK_MS = 1_000;
/** So long before a message the machine is computed anew. */
const AHEAD_MS = 2_000;
/** After descriptions that a broker does not keep, states are sent again: subscribers need a moment to subscribe. */
const RENEW_MS = 10_000;

export class MachineBoard {
  readonly #parts: MachineBoardParts;
  readonly #options: MachineBoardOptions;
  readonly #selected: () => readonly SiteMachine[];
  /** Where each of them is told, and how long it is not told again while nothing changes, ms. */
  readonly #places: () => ReadonlyMap<number, { readonly place: string; readonly dayMs: number }>;
  readonly #sent = new Map<number, SentMachine & { readonly place: string }>();
  readonly #keys = new WeakMap<MachineNow["members"], MachineKeys>();
  /** What was described in this session, by id. */
  readonly #described = new Map<number, string>();
  readonly #recorded: RecordedTopics;
  #session = -1;
  #lookedIn = -1;
  /** When time alone makes something due, monotonic ms. */
  #nextAt = 0;
  /** States are sent again from then on, monotonic ms; null if they need not. */
  #renewAt: number | null = null;

  constructor(parts: MachineBoardParts, options: MachineBoardOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#recorded = new RecordedTopics(parts.memory, parts);
    this.#selected = fromSite(parts.site, (site) =>
      siteMachines(site).filter((machine) => options.isSelected(machine)),
    );
    this.#places = fromSite(parts.site, ({ site }) => {
      const placed = (machine: SiteMachine) => ({
        place: parts.messages.place(machine),
        dayMs: dailyMs(site, machine.id),
      });
      return new Map(this.#selected().map((machine) => [machine.id, placed(machine)]));
    });
  }

  /** Describes what is new or different, and takes back what has gone; cheap if nothing is. */
  async sync(): Promise<void> {
    const { link, messages } = this.#parts;
    if (link.session !== this.#session) this.#described.clear();
    this.#session = link.session;
    const machines = this.#selected();
    const now: Recorded = Object.fromEntries(
      machines.map((machine) => [machine.id, messages.retained(machine)]),
    );
    const before = this.#recorded.current;
    if (!this.#recorded.save(merged(before, now))) return;
    if (!(await this.#describe(machines)) || !(await this.#takeBack(before, now))) return;
    this.#recorded.save(now);
  }

  /** Everything again: a subscriber that stores nothing has restarted. */
  renew(): void {
    this.#described.clear();
  }

  /** Takes back all machines: the uplink leaves its broker. @param kept topics at which another one tells of them there */
  removed(kept: ReadonlySet<string>): readonly Message[] {
    const { messages } = this.#parts;
    const recorded = Object.entries(this.#recorded.current);
    const topics = this.#options.hasFixedTopics ? [] : recorded.flatMap(([, all]) => all);
    return [
      ...topics.filter((topic) => !kept.has(topic)).map(cleared),
      ...recorded.flatMap(([id]) => messages.farewell(Number(id))),
    ];
  }

  /** Nothing of it is retained there any more. */
  forget(): void {
    this.#recorded.save({});
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, conditions, link } = this.#parts;
    // Conditions are computed only while somebody listens.
    if (!this.#options.isOn) return;
    let wake = () => {};
    let isLooked = true;
    const stop = conditions.onLook(() => {
      isLooked = true;
      wake();
    });
    while (await link.ready(signal)) {
      // In between nothing is due, but for what time alone makes due.
      if (isLooked || link.session !== this.#lookedIn || clock.monotonic() >= this.#nextAt) {
        isLooked = false;
        this.#lookedIn = link.session;
        await this.look();
      }
      const woken = new AbortController();
      wake = () => woken.abort();
      await clock.sleep(TICK_MS, AbortSignal.any([signal, woken.signal]));
    }
    stop();
  }

  /** Sends what is due now. */
  look(): Promise<void> {
    return this.#send();
  }

  #due(): MachineNow[] {
    const { clock, conditions, link } = this.#parts;
    const now = clock.monotonic();
    const places = this.#places();
    const recorded = this.#recorded.current;
    this.#forgetElsewhere();
    this.#nextAt = this.#renewAt ?? Number.POSITIVE_INFINITY;
    const isRenewed = this.#renewAt !== null && now >= this.#renewAt;
    if (isRenewed) {
      this.#renewAt = null;
      for (const [id, sent] of this.#sent) this.#sent.set(id, { ...sent, session: -1 });
    }
    return conditions.current.filter((machine) => {
      const { id } = machine;
      const dayMs = places.get(id)?.dayMs;
      const isPublished = machine.isSettled && recorded[id] !== undefined;
      if (!isPublished || dayMs === undefined) return false;
      const state = this.#stateOf(machine, link.session);
      const before = this.#sent.get(id);
      const sent = before && looked(before, state);
      if (before && sent && sent !== before) this.#sent.set(id, { ...before, ...sent });
      const at = dueAt(sent, state, this.#options, dayMs, now);
      if (at > now) this.#nextAt = Math.min(this.#nextAt, Math.max(now, at - AHEAD_MS));
      const isOpen = sent !== undefined && isUnsure(sent, this.#options, now);
      // A message says what the API says then.
      if (!machine.isStale) {
        if (before && isOpen) this.#sent.set(id, { ...before, ...sent, comparedAt: now });
        return now >= at;
      }
      if (isOpen || now >= at - AHEAD_MS) conditions.want(id);
      return false;
    });
  }

  /** At another topic nobody knows it yet; nor where it was taken back, though it comes again before the next look. */
  #forgetElsewhere(): void {
    const places = this.#places();
    for (const [id, { place }] of this.#sent)
      if (places.get(id)?.place !== place) this.#sent.delete(id);
  }

  /** In batches, each made when it is sent, so that the newest counts. */
  async #send(): Promise<void> {
    const { clock, link, messages, times, turns } = this.#parts;
    const { session } = link;
    for (;;) {
      if (this.#due().length === 0) return;
      await turns.next();
      const batch = link.session === session && link.isConnected ? this.#due() : [];
      const taken = batch.slice(0, BATCH);
      if (taken.length === 0) return;
      const at = times.take(taken.map(({ id }) => id));
      const sent = taken.map((machine) => {
        const state = this.#stateOf(machine, session);
        const now = clock.monotonic();
        const place = this.#places().get(machine.id)?.place ?? "";
        this.#sent.set(machine.id, { ...sentNow(this.#sent.get(machine.id), state, now), place });
        const made = messages.state(machine, at.get(machine.id) ?? 0);
        return Promise.all(made.map((message) => link.publish(message)));
      });
      this.#report(taken, await Promise.all(sent));
    }
  }

  /** What is lost is due again in the next session; what is refused would be refused again. */
  #report(
    machines: readonly MachineNow[],
    outcomes: readonly (readonly { readonly result: string }[])[],
  ): void {
    const refused = machines.filter((_, at) =>
      outcomes[at]?.some(({ result }) => result === "refused" || result === "oversize"),
    );
    if (refused.length > 0)
      this.#parts.logger.warn(
        { machines: refused.map(({ id }) => id) },
        "the broker refuses messages about machines",
      );
  }

  #stateOf(machine: MachineNow, session: number) {
    const keys = this.#keys.get(machine.members) ?? machineKeys(machine, this.#options.isCompact);
    this.#keys.set(machine.members, keys);
    return { keys, isAlarm: machine.members.condition === "alarm", session };
  }

  async #describe(machines: readonly SiteMachine[]): Promise<boolean> {
    const { messages, turns } = this.#parts;
    const ids = new Set(machines.map(({ id }) => id));
    for (const id of this.#described.keys()) if (!ids.has(id)) this.#described.delete(id);
    const fresh = machines.flatMap((machine) => {
      const made = messages.describe(machine);
      const text = JSON.stringify(made);
      return this.#described.get(machine.id) === text ? [] : [{ machine, made, text }];
    });
    const all = fresh.flatMap(({ made }) => made);
    if (!(await this.#accepted(turns, all))) return false;
    for (const { machine, text } of fresh) this.#described.set(machine.id, text);
    if (!this.#options.isRetained && fresh.some(({ made }) => made.length > 0))
      this.#renewAt = this.#parts.clock.monotonic() + RENEW_MS;
    return true;
  }

  async #takeBack(before: Recorded, now: Recorded): Promise<boolean> {
    const { messages, turns } = this.#parts;
    this.#forgetElsewhere();
    const kept = new Set(Object.values(now).flat());
    const old = this.#options.hasFixedTopics ? [] : Object.values(before).flat();
    const left = Object.keys(before).filter((id) => now[id] === undefined);
    return this.#accepted(turns, [
      ...old.filter((topic) => !kept.has(topic)).map(cleared),
      ...left.flatMap((id) => messages.farewell(Number(id))),
    ]);
  }

  /** False if the session ended. */
  async #accepted(turns: Pick<Turns, "publish">, all: readonly Message[]): Promise<boolean> {
    if (all.length === 0) return true;
    const outcomes = await turns.publish(all);
    const refused = outcomes.filter(({ result }) => result === "refused" || result === "oversize");
    if (refused.length > 0)
      this.#parts.logger.warn(
        { topics: refused.length },
        "the broker refuses descriptions of machines",
      );
    return outcomes.every(({ result }) => result !== "lost");
  }
}

const cleared = (topic: string): Message => ({ topic, payload: "", qos: 1, retain: true });

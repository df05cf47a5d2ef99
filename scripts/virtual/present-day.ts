/** Each enabled stream has a read of the present day begun within its interval, or the agent's status says why not. */
import type { AgentStatus, SensorState } from "../../src/core/agent-status.ts";
import type { PolledKind } from "../../src/core/sensor.ts";
import { normalCode } from "../../src/core/sensor.ts";
import { dayOf } from "../../src/core/time/time-zone.ts";
import { READ_OPERATIONS } from "../../src/pipeline/wire/names.ts";
import type { Stage } from "./stage.ts";

/** A read that is due waits at most this long for a slot, ms. */
const SLOT_MS = 30_000;
/** The longest pause between two tries of a day that fails, or of a gateway that cannot be reached, ms. */
const BACKOFF_MAX_MS = 300_000;

type Kind = SensorState["kinds"][number];

export class PresentDay {
  readonly #stage: Stage;
  readonly #zone: string;
  readonly #intervalS: number;
  /** All times are the world's, ms. When a read of the present day was last begun, or had a reason not to be, by stream. */
  #begun = new Map<string, number>();
  #calls = 0;
  #today = "";
  #start = 0;
  #offsetMs = 0;
  /** A `Date` came in this start, and since the gateway's clock was last set. */
  #hasDate = false;
  #hadDate = false;
  /** Since when a day, a start and what tells the day have been the same. */
  #sinceMs = 0;

  /** @param zone of the gateway's days @param intervalS POLL_INTERVAL_S */
  constructor(stage: Stage, zone: string, intervalS: number) {
    this.#stage = stage;
    this.#zone = zone;
    this.#intervalS = intervalS;
  }

  /** Called every minute. A read is taken for as late as the look that finds it, so none is accused wrongly. */
  wrong(status: AgentStatus): string[] {
    const { agent, simulator, world } = this.#stage;
    const today = dayOf(simulator.clock.now(), this.#zone);
    const isSameStart = agent.starts === this.#start;
    const isSameClock = isSameStart && simulator.clock.offsetMs === this.#offsetMs;
    if (!isSameStart) this.#hadDate = false;
    if (!isSameClock) this.#hasDate = false;
    if (!isSameClock || today !== this.#today) {
      this.#begun.clear();
      this.#sinceMs = world.nowMs;
    }
    this.#today = today;
    this.#start = agent.starts;
    this.#offsetMs = simulator.clock.offsetMs;
    this.#noteCalls(isSameClock);
    if (!this.#isDayTold()) {
      this.#sinceMs = world.nowMs;
      return [];
    }
    this.#forgetRemoved(status);
    return status.sensors.flatMap((sensor) =>
      sensor.kinds.flatMap((kind) => this.#late(sensor.code, kind, status)),
    );
  }

  /** One that comes back to the site file is a new one. */
  #forgetRemoved({ sensors }: AgentStatus): void {
    const names = new Set(
      sensors.flatMap(({ code, kinds }) =>
        kinds.flatMap(({ kind }) => (isPolled(kind) ? [nameOf(code, kind)] : [])),
      ),
    );
    for (const name of this.#begun.keys()) if (!names.has(name)) this.#begun.delete(name);
  }

  #noteCalls(isSameClock: boolean): void {
    const { simulator, world } = this.#stage;
    const { calls } = simulator;
    if (calls.length < this.#calls) this.#calls = 0;
    for (const { operation, sensor, day, faults } of calls.slice(this.#calls)) {
      if (day === this.#today) this.#begun.set(`${operation} ${normalCode(sensor)}`, world.nowMs);
      // Of a faulty response nobody knows whether its head arrived.
      if (isSameClock && faults.length === 0) this.#hasDate = this.#hadDate = true;
    }
    this.#calls = calls.length;
  }

  /** By the gateway's `Date` or, where none came, by the box's clock. One that was told before the gateway's clock was set is wrong. */
  #isDayTold(): boolean {
    if (this.#hasDate) return true;
    return !this.#hadDate && dayOf(this.#stage.agent.boxNowMs, this.#zone) === this.#today;
  }

  #late(code: string, kind: Kind, status: AgentStatus): string[] {
    const { nowMs } = this.#stage.world;
    if (!isPolled(kind.kind)) return [];
    const name = nameOf(code, kind.kind);
    const begunMs = this.#begun.get(name);
    if (begunMs === undefined || this.#mayWait(code, kind, status)) {
      this.#begun.set(name, nowMs);
      return [];
    }
    const lateMs = nowMs - Math.max(begunMs, this.#sinceMs) - this.#paceMs(code, kind, status);
    if (lateMs <= SLOT_MS) return [];
    return [
      `${code} ${kind.kind}: no read of ${this.#today} was begun in time, and the status has no reason`,
    ];
  }

  /** Reads wait as a whole, or this one does, and the status says so. */
  #mayWait(code: string, { kind }: Kind, { buffer, gateway, daysSetAside }: AgentStatus): boolean {
    if (buffer.alarm !== null) return true;
    if (!gateway.isUp && this.#isGatewayTroubled()) return true;
    return daysSetAside.some(
      (one) => one.sensor === code && one.kind === kind && one.day === this.#today,
    );
  }

  #isGatewayTroubled(): boolean {
    const { network, simulator } = this.#stage;
    const isOpen = network.path(String(simulator.port)).state === "open";
    return !isOpen || simulator.faults.list().some(({ spec }) => spec.forMs !== undefined);
  }

  /** What fails is tried again within minutes; days of waveforms are read once per measurement. */
  #paceMs(code: string, { kind, lastError, cadenceS }: Kind, { gateway }: AgentStatus): number {
    const ownS = this.#stage.siteFile.pollIntervalS(code) ?? this.#intervalS;
    const isFailing = lastError !== null || gateway.lastError !== null;
    return Math.max(
      ownS * 1000,
      isFailing ? BACKOFF_MAX_MS : 0,
      kind === "accel" ? (cadenceS ?? 0) * 1000 : 0,
    );
  }
}

/** The others have no days. */
const isPolled = (kind: Kind["kind"]): kind is PolledKind => kind in READ_OPERATIONS;

const nameOf = (code: string, kind: PolledKind) => `${READ_OPERATIONS[kind]} ${normalCode(code)}`;

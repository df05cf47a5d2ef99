/** Changes to alarms without a reading: the passing of time, another site file, and a recreated store. */

import type { SensorState } from "../../core/agent-status.ts";
import type { Runtime } from "../../core/ports.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { GatewayTime } from "../../core/time/gateway-time.ts";
import { LogPace } from "../../lib/log-pace.ts";
import type { AlarmLog } from "./alarm-log.ts";
import type { AlarmEngines } from "./engines.ts";

interface UpkeepParts extends Runtime {
  readonly engines: AlarmEngines;
  readonly site: SiteSource;
  readonly log: AlarmLog;
  /** The gateway's clock, ms; ours until it is known. */
  readonly gatewayNow: () => number;
  readonly isGatewayTimeKnown: () => boolean;
  readonly sensors: () => readonly SensorState[];
  readonly isGatewayUp: () => boolean;
}

const TICK_MS = 5000;

export class AlarmUpkeep {
  readonly #parts: UpkeepParts;
  readonly #time: GatewayTime;
  readonly #lines: LogPace;
  /** When the gateway was last seen not to respond, ms; null if it never was. */
  #downAtMs: number | null = null;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
    const { clock, gatewayNow, isGatewayTimeKnown } = parts;
    this.#lines = new LogPace(clock);
    this.#time = new GatewayTime({
      clock,
      gatewayNow: () => (isGatewayTimeKnown() ? gatewayNow() : null),
    });
  }

  /** Ticks, and ends what the site file no longer defines, until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = this.#parts.site.onChange(() => void this.#reconcile());
    await this.#reconcile();
    while (!signal.aborted) {
      await this.tick();
      await this.#parts.clock.sleep(this.#untilNextMs(), signal);
    }
    stop();
  }

  /** A shelf ends on time. */
  #untilNextMs(): number {
    const endMs = this.#parts.engines.alarms.nextShelfEndMs();
    const now = this.#time.now();
    if (endMs === null || now === null || endMs <= now) return TICK_MS;
    return Math.min(TICK_MS, Math.ceil(endMs - now));
  }

  /** Raises and clears the alarms of silent sensors, and ends shelves. */
  async tick(): Promise<void> {
    const { engines, isGatewayUp, log } = this.#parts;
    const sensors = this.#sensors();
    await this.#judgeDue();
    // Shelves end by the gateway's clock: a box whose clock is ahead would end them at every start.
    const now = this.#time.now();
    if (now === null) return;
    if (!engines.alarms.hasNews(now, sensors)) return;
    await this.#write("alarms of silent sensors", () =>
      log.apply(
        "publish alarms that time alone changes",
        (tx) => engines.alarms.tick(tx, now, sensors, isGatewayUp()),
        false,
      ),
    );
  }

  /** What waited for a signal that has been read without anything new, or that cannot be read. */
  async #judgeDue(): Promise<void> {
    const { engines, log } = this.#parts;
    const judge = () => log.apply("judge what waited", (tx) => engines.alarms.judgeDue(tx), false);
    while (engines.alarms.wait.releases()) {
      if (!(await this.#write("alarms that waited", judge))) return;
    }
  }

  /** A gateway that is away makes no sensor silent: those count again once they have been read since. */
  #sensors(): readonly SensorState[] {
    const { clock, isGatewayUp, sensors } = this.#parts;
    if (!isGatewayUp()) this.#downAtMs = clock.now();
    const downAtMs = this.#downAtMs;
    if (downAtMs === null) return sensors();
    return sensors().filter(
      ({ state, kinds }) =>
        state !== "silent" || kinds.some(({ lastReadAtMs }) => (lastReadAtMs ?? 0) > downAtMs),
    );
  }

  async #reconcile(): Promise<void> {
    const { engines, gatewayNow, log } = this.#parts;
    await this.#write("alarms that are no longer configured", () =>
      log.apply("end alarms", (tx) => engines.alarms.reconcile(tx, gatewayNow()), true),
    );
  }

  /** Writes every state again: a recreated store has only what could be read from the damaged one. */
  async rewrite(): Promise<void> {
    const { engines, log } = this.#parts;
    await this.#write("states of alarms", () =>
      log.apply("write the states of alarms again", () => engines.alarms.saved(), true),
    );
  }

  /** Faults of the store are temporary; the next tick tries again. */
  async #write(what: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (err) {
      const line = this.#lines.next(what);
      if (line === null) return false;
      this.#parts.logger.warn({ err, others: line.heldBack }, `${what} could not be stored yet`);
      return false;
    }
  }
}

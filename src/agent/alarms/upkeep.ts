/** Changes to alarms without a reading: the passing of time, another site file, and a recreated store. */

import type { SensorState } from "../../core/agent-status.ts";
import type { AlarmStore } from "../../core/alarm/ports.ts";
import { GatewayTime } from "../../core/gateway-time.ts";
import type { Clock, Logger } from "../../core/ports.ts";
import type { SiteSource } from "../../core/site-source.ts";
import type { AlarmEngines } from "./engines.ts";

export interface UpkeepParts {
  readonly engines: AlarmEngines;
  readonly site: SiteSource;
  readonly store: AlarmStore;
  readonly clock: Clock;
  readonly logger: Logger;
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

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
    const { clock, gatewayNow, isGatewayTimeKnown } = parts;
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
      await this.#parts.clock.sleep(TICK_MS, signal);
    }
    stop();
  }

  /** Raises and clears the alarms of silent sensors, and ends shelves. */
  async tick(): Promise<void> {
    const { engines, isGatewayUp, sensors, store } = this.#parts;
    // Shelves end by the gateway's clock: a box whose clock is ahead would end them at every start.
    const now = this.#time.now();
    if (now === null) return;
    if (!engines.alarms.hasNews(now, sensors())) return;
    await this.#write("alarms of silent sensors", () =>
      store.apply(
        "publish alarms that time alone changes",
        () => engines.alarms.tick(now, sensors(), isGatewayUp()),
        false,
      ),
    );
  }

  async #reconcile(): Promise<void> {
    const { engines, gatewayNow, store } = this.#parts;
    await this.#write("alarms that are no longer configured", () =>
      store.apply("end alarms", () => engines.alarms.reconcile(gatewayNow()), true),
    );
    await this.#write("findings of removed sensors", () =>
      store.apply(
        "forget findings",
        () => {
          const states = engines.findings.reconcile();
          return states.length === 0 ? null : { events: [], states, samples: [], forgotten: [] };
        },
        false,
      ),
    );
  }

  /** Writes every state again: a recreated store has only what could be read from the damaged one. */
  async rewrite(): Promise<void> {
    const { engines, store } = this.#parts;
    await this.#write("states of alarms", () =>
      store.apply(
        "write the states of alarms again",
        () => {
          const up = engines.alarms.saved();
          return { ...up, states: [...up.states, ...engines.findings.saved()] };
        },
        true,
      ),
    );
  }

  /** Faults of the store are temporary; the next tick tries again. */
  async #write(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (err) {
      this.#parts.logger.warn({ err }, `${what} could not be stored yet`);
    }
  }
}

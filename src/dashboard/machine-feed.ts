/** The machines, worst first, asked for once for the header and all lists of a page. */
import { messageOf } from "../core/thrown.ts";
import type { Api } from "./api.ts";
import type { Model } from "./model.ts";
import { placeNow } from "./place.ts";
import { Refresh } from "./refresh.ts";

/** Most changes show in the alarm counts of the status; this interval catches the rest where the machines are shown. */
const SHOWN_MS = 5_000;
/** Where only the header counts them. */
const COUNTED_MS = 30_000;

export class MachineFeed {
  readonly #model: Model;
  readonly #refresh: Refresh;
  #counts = "";
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(api: Api, model: Model) {
    this.#model = model;
    this.#refresh = new Refresh(
      async (asking) => {
        this.#askedAt = performance.now();
        const machines = await api.worstMachines(asking);
        return () => model.takeMachines(machines);
      },
      (error) => model.failMachines(messageOf(error)),
      { ms: SHOWN_MS, isDue: () => this.#isDue() },
    );
    model.subscribe((change) => {
      const { status } = model;
      if (change !== "status" || status === null) return;
      const { alarms, activeAlarms, configuration, gateway } = status;
      const counts = JSON.stringify([alarms, activeAlarms, configuration, gateway.isUp]);
      // The first list is there or under way.
      if (this.#counts !== "" && counts !== this.#counts) this.change();
      this.#counts = counts;
    });
  }

  /** Something changed by hand. */
  change(): void {
    if (!document.hidden) this.#refresh.change();
  }

  #isDue(): boolean {
    if (!this.#model.isLive || document.hidden) return false;
    const { view } = placeNow();
    const isShown = view === "" || view === "machine";
    return isShown || performance.now() - this.#askedAt >= COUNTED_MS;
  }
}

import type { Api } from "./api.ts";
import { certificatesPanel } from "./certificates-panel.ts";
import { type Cleanup, h } from "./dom.ts";
import { boxLine, faultsPanel } from "./faults-panel.ts";
import { flowPanel } from "./flow-panel.ts";
import { gapsPanel } from "./gaps-panel.ts";
import { MachineBoard } from "./machine-board.ts";
import type { MachineFeed } from "./machine-feed.ts";
import { machinesHint } from "./machines-hint.ts";
import type { Model } from "./model.ts";
import { placeNow } from "./place.ts";
import { noFilter } from "./sensor-filter.ts";
import { SensorsTable } from "./sensors-table.ts";

/** The table itself has its page. */
const FIRST_SENSORS = 10;

/** The first page: which machine needs somebody, is it running, is data delivered, which sensor is silent, how long can we stay offline. */
export function overview(parent: HTMLElement, api: Api, model: Model, feed: MachineFeed): Cleanup {
  const machines = new MachineBoard(api, model, feed);
  const flow = flowPanel(model);
  const box = boxLine(model);
  const faults = faultsPanel(model, null);
  const table = new SensorsTable(api, model, noFilter(), FIRST_SENSORS);
  const gaps = gapsPanel(api, model, null);
  const certificates = certificatesPanel(model);
  const hint = machinesHint(model);
  parent.replaceChildren(
    h("h1", { class: "sr", tabindex: -1 }, "Overview"),
    box.root,
    machines.root,
    flow.root,
    table.root,
    faults.root,
    gaps.root,
    certificates.root,
    hint.root,
  );
  const isWanted = placeNow().query.get("at") === "attention";
  if (isWanted) requestAnimationFrame(() => box.root.scrollIntoView({ block: "start" }));
  return () => {
    for (const { stop } of [box, machines, flow, faults, table, gaps, certificates, hint]) stop();
  };
}

import type { Api } from "./api.ts";
import { certificatesPanel } from "./certificates-panel.ts";
import { type Cleanup, h } from "./dom.ts";
import { faultsPanel, gapsPanel } from "./faults-panel.ts";
import { flowPicture } from "./flow.ts";
import type { Model } from "./model.ts";
import type { Filter } from "./sensor-filter.ts";
import { SensorsTable } from "./sensors-table.ts";
import { WorstList } from "./worst-list.ts";

/** The first page: which machine needs somebody, is it running, is data delivered, which sensor is silent, how long can we stay offline. */
export function overview(parent: HTMLElement, api: Api, model: Model, filter: Filter): Cleanup {
  const machines = new WorstList(api, model);
  const flow = flowPicture(model);
  const faults = faultsPanel(model, null);
  const table = new SensorsTable(api, model, filter);
  const gaps = gapsPanel(model, null);
  const certificates = certificatesPanel(model);
  parent.replaceChildren(
    h("h1", { class: "sr", tabindex: -1 }, "Overview"),
    machines.root,
    flow.root,
    faults.root,
    table.root,
    gaps.root,
    certificates.root,
  );
  return () => {
    for (const { stop } of [machines, flow, faults, table, gaps, certificates]) stop();
  };
}

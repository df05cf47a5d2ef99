import type { Api } from "./api.ts";
import { type Cleanup, h } from "./dom.ts";
import { faultsPanel, gapsPanel } from "./faults-panel.ts";
import { flowPicture } from "./flow.ts";
import type { Model } from "./model.ts";
import type { Filter } from "./sensor-filter.ts";
import { SensorsTable } from "./sensors-table.ts";

/** The first page: is it running, is data delivered, which sensor is silent, how long can we stay offline. */
export function overview(parent: HTMLElement, api: Api, model: Model, filter: Filter): Cleanup {
  const flow = flowPicture(model);
  const faults = faultsPanel(model, null);
  const table = new SensorsTable(api, model, filter);
  const gaps = gapsPanel(model, null);
  parent.replaceChildren(
    h("h1", { class: "sr", tabindex: -1 }, "Overview"),
    flow.root,
    faults.root,
    table.root,
    gaps.root,
  );
  return () => {
    for (const stop of [flow.stop, faults.stop, table.stop, gaps.stop]) stop();
  };
}

/** All sensors, with search and filters. */
import type { Api } from "./api.ts";
import { type Cleanup, h } from "./dom.ts";
import { gapsPanel } from "./gaps-panel.ts";
import type { Model } from "./model.ts";
import type { Filter } from "./sensor-filter.ts";
import { SensorsTable } from "./sensors-table.ts";

export function sensorsPage(parent: HTMLElement, api: Api, model: Model, filter: Filter): Cleanup {
  const table = new SensorsTable(api, model, filter, null);
  const gaps = gapsPanel(api, model, null);
  parent.replaceChildren(h("h1", { class: "sr", tabindex: -1 }, "Sensors"), table.root, gaps.root);
  return () => {
    table.stop();
    gaps.stop();
  };
}

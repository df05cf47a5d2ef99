import { certificateTitle, endingText } from "../core/status/certificate.ts";
import type { Api } from "./api.ts";
import { type Cleanup, h, oncePerFrame, replace, setAttribute } from "./dom.ts";
import { boxLine, faultsPanel } from "./faults-panel.ts";
import { flowPanel } from "./flow-panel.ts";
import { gapsPanel } from "./gaps-panel.ts";
import { MachineBoard } from "./machine-board.ts";
import type { MachineFeed } from "./machine-feed.ts";
import { machinesHint } from "./machines-hint.ts";
import { toneIcon } from "./marks.ts";
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

/** How long each certificate lasts; hidden if there are none. */
const TONES = { valid: "ok", ending: "warn", ended: "bad" } as const;

function certificatesPanel(model: Model): {
  readonly root: HTMLElement;
  readonly stop: Cleanup;
} {
  const list = h("ul", { class: "detail" });
  const root = h(
    "section",
    { class: "panel certificates", "aria-labelledby": "certificates-title", hidden: true },
    h("h2", { id: "certificates-title" }, "Certificates"),
    list,
  );
  let shown = "";
  const show = (): void => {
    const certificates = model.status?.certificates ?? [];
    setAttribute(root, "hidden", certificates.length === 0);
    const lines = certificates.map((one) => `${certificateTitle(one)} ${endingText(one)}`);
    if (lines.join("\n") === shown) return;
    shown = lines.join("\n");
    replace(
      list,
      ...certificates.map((one, i) => h("li", null, toneIcon(TONES[one.state]), " ", lines[i])),
    );
  };
  const unsubscribe = model.subscribe(oncePerFrame(show));
  show();
  return { root, stop: unsubscribe };
}

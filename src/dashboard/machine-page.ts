/** A machine: its state, findings, trend, sections of features and sensors. */
import type { ShownSensor } from "../core/query/shown.ts";
import type { Api } from "./api.ts";
import { arrange, type Cleanup, h, oncePerFrame, replace, replaceAnew, setText } from "./dom.ts";
import { MACHINE_SECTIONS } from "./features.ts";
import { findingsPanel } from "./findings-panel.ts";
import { InView } from "./in-view.ts";
import { MachineEntry } from "./machine-entry.ts";
import type { MachineFeed } from "./machine-feed.ts";
import { velocityOf } from "./machine-words.ts";
import { notLiveWords, stateBadge, zoneBadge } from "./marks.ts";
import type { Model } from "./model.ts";
import { linkTo } from "./place-link.ts";
import { Refresh } from "./refresh.ts";
import type { PageView, Section } from "./section.ts";
import { areaName, machineName, sensorName } from "./sensor-filter.ts";
import { TrendPanel } from "./trend-panel.ts";

/** Daily values: they change seldom. */
const SPARK_AGAIN_MS = 600_000;

export function machinePage(
  parent: HTMLElement,
  { api, model, theme, feed }: PageView & { readonly feed: MachineFeed },
  id: string,
): Cleanup {
  const state = machineState(api, model, feed, Number(id));
  const trendPlace = h("div");
  let trend: TrendPanel | null = null;
  const title = h("h1", { tabindex: -1 }, `Machine ${id}`);
  const area = h("span");
  const rows = new SensorRows();
  const noRow = h("p", { class: "hint" });
  const hint = h(
    "p",
    { class: "hint", hidden: true },
    "It may have been removed or got another number. ",
    h("a", { href: "#/" }, "Go to the machines"),
  );
  const panel = h(
    "section",
    { class: "panel", "aria-labelledby": "machine-sensors" },
    h("h2", { id: "machine-sensors" }, "Sensors"),
    noRow,
    rows.root,
  );
  const sectionPlaces = MACHINE_SECTIONS.map(() => h("div"));
  let sections: readonly Section[] = [];
  const findings = findingsPanel(api, model, Number(id), { theme });
  replace(
    parent,
    h(
      "section",
      { class: "panel head", "aria-label": "Machine" },
      h(
        "nav",
        { class: "crumbs", "aria-label": "Place" },
        h("ol", null, h("li", null, h("a", { href: "#/" }, "All machines")), h("li", null, area)),
      ),
      title,
      hint,
    ),
    state.root,
    trendPlace,
    findings.root,
    ...sectionPlaces,
    panel,
  );
  const show = (): void => {
    const sensors = [...model.sensors.values()].filter(
      ({ location }) => location !== null && String(location.machine) === id,
    );
    const [first] = sensors;
    if (first !== undefined) {
      setText(title, machineName(first));
      setText(area, areaName(first));
    }
    const isUnknown = model.machines?.every((machine) => String(machine.id) !== id) === true;
    if (isUnknown) setText(title, `There is no machine ${id} in the site file`);
    hint.hidden = !isUnknown;
    panel.hidden = isUnknown;
    state.root.hidden = isUnknown;
    // That of its worst value says most; the others are a click away.
    const own = model.machines?.find((machine) => String(machine.id) === id);
    const worst = own === undefined ? null : velocityOf(model, own);
    const shown =
      trend === null
        ? (worst?.sensor ?? sensors.find(({ kinds }) => kinds.includes("accel")) ?? first)
        : sensors.find(({ code }) => code === trend?.code);
    if (trend === null && shown !== undefined && model.machines !== null) {
      trend = new TrendPanel(api, model, theme, shown);
      replace(trendPlace, trend.root);
    }
    if (shown !== undefined) trend?.offer(shown);
    rows.show(sensors, model);
    noRow.hidden = sensors.length > 0;
    setText(
      noRow,
      // Without any, the first status says so.
      model.sensors.size === 0 && model.status?.sensors.length !== 0
        ? "Reading the sensors …"
        : "No sensor is assigned to this machine.",
    );
  };
  const showSections = (): void => {
    sections = MACHINE_SECTIONS.map((make) => make({ api, model, theme }, Number(id)));
    for (const [at, { root }] of sections.entries()) sectionPlaces[at]?.replaceWith(root);
  };
  const soon = oncePerFrame(show);
  // Sections are of machines that the site file lists.
  const known = new Refresh(
    async (asking) => {
      const machines = await api.machines(asking);
      return () => {
        const isListed = machines.some((machine) => String(machine.id) === id);
        if (isListed && sections.length === 0) showSections();
      };
    },
    // Asked again when the agent responds.
    () => {},
  );
  const unsubscribe = model.subscribe((change) => {
    if (change === "sensors" || change === "status" || change === "machines") soon();
    if (change === "sensors" && sections.length === 0) known.change();
  });
  show();
  known.change();
  return () => {
    unsubscribe();
    known.stop();
    findings.stop();
    state.stop();
    trend?.stop();
    for (const section of sections) section.stop?.();
  };
}

/** Its sensors: each row is built once, then its state and zone are written, so that a link stays under a hand. */
class SensorRows {
  readonly root = h("ul", { class: "alarms" });
  readonly #rows = new Map<string, HTMLElement>();

  show(sensors: readonly ShownSensor[], model: Model): void {
    const shown = sensors.map((sensor) => {
      const row = this.#rows.get(sensor.code) ?? newRow(sensor.code);
      this.#rows.set(sensor.code, row);
      const [state, link, zone] = row.children;
      if (state === undefined || link === undefined || zone === undefined) return row;
      replaceAnew(state, `${sensor.state} ${sensor.enabled}`, () => [
        stateBadge(sensor.state, sensor.enabled),
      ]);
      setText(link, sensorName(sensor));
      const notLive = notLiveWords(model, sensor);
      replaceAnew(zone, `${sensor.zone ?? ""} ${notLive}`, () => [
        sensor.zone !== null && zoneBadge(sensor.zone, notLive),
        notLive !== "" && h("span", { class: "sub" }, ` ${notLive}`),
      ]);
      return row;
    });
    arrange(this.root, shown);
  }
}

const newRow = (code: string) =>
  h("li", { class: "alarm-head" }, h("span"), h("a", { href: linkTo("sensor", code) }), h("span"));

/** Its entry of the list of machines, opened. */
function machineState(
  api: Api,
  model: Model,
  feed: MachineFeed,
  id: number,
): { readonly root: HTMLElement; readonly stop: Cleanup } {
  const list = h("ul", { class: "cards only" });
  const note = h("p", { class: "hint", role: "status" }, "Reading the machine …");
  const root = h(
    "section",
    { class: "panel machines", "aria-labelledby": "machines-title" },
    h("h2", { id: "machines-title" }, "State"),
    note,
    list,
  );
  const view = new InView(model, SPARK_AGAIN_MS);
  let entry: MachineEntry | null = null;
  const show = (): void => {
    const { machines, machinesError } = model;
    const own = machines?.find((machine) => machine.id === id);
    setText(note, machinesError === "" ? "" : `The state could not be read: ${machinesError}`);
    if (own === undefined) return;
    if (entry !== null) {
      entry.update(own);
      return view.look();
    }
    entry = new MachineEntry(api, model, own, () => feed.change(), true);
    const card = entry.card();
    list.append(card);
    view.watch([entry.seen(card)]);
  };
  const unsubscribe = model.subscribe(oncePerFrame(show));
  show();
  return {
    root,
    stop: () => {
      unsubscribe();
      view.stop();
    },
  };
}

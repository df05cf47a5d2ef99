/** A machine: its state, findings, trend, sections of features and sensors. */
import type { Machine } from "../core/machine.ts";
import type { Api } from "./api.ts";
import { type Cleanup, h, oncePerFrame, replace, replaceAnew, setText } from "./dom.ts";
import { MACHINE_SECTIONS } from "./features.ts";
import { findingsPanel } from "./findings-panel.ts";
import { stateBadge, zoneBadge } from "./marks.ts";
import type { Model } from "./model.ts";
import { linkTo } from "./place-link.ts";
import type { Section } from "./section.ts";
import { areaName, machineName, sensorName } from "./sensor-filter.ts";
import type { Theme } from "./theme.ts";
import { TrendPanel } from "./trend-panel.ts";
import { WorstList } from "./worst-list.ts";

export function machinePage(
  parent: HTMLElement,
  api: Api,
  model: Model,
  theme: Theme,
  id: string,
): Cleanup {
  const state = new WorstList(api, model, Number(id));
  const trendPlace = h("div");
  let trend: TrendPanel | null = null;
  const title = h("h1", { tabindex: -1 }, `Machine ${id}`);
  const area = h("span");
  const list = h("ul", { class: "alarms" });
  const hint = h(
    "p",
    { class: "hint", hidden: true },
    "It may have been removed or got another number. The list shows all configured sensors and their machines.",
  );
  const panel = h(
    "section",
    { class: "panel", "aria-labelledby": "machine-sensors" },
    h("h2", { id: "machine-sensors" }, "Sensors"),
    list,
  );
  const sectionPlaces = MACHINE_SECTIONS.map(() => h("div"));
  let sections: readonly Section[] = [];
  /** Those that the site file lists; null until they are known. */
  let listed: readonly Machine[] | null = null;
  const findings = findingsPanel(api, model, Number(id), { theme });
  replace(
    parent,
    h(
      "section",
      { class: "panel head", "aria-label": "Machine" },
      h(
        "nav",
        { class: "crumbs", "aria-label": "Place" },
        h("ol", null, h("li", null, h("a", { href: "#/" }, "All sensors")), h("li", null, area)),
      ),
      title,
      hint,
    ),
    state.root,
    findings.root,
    trendPlace,
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
    const isUnknown =
      first === undefined &&
      model.sensors.size > 0 &&
      listed?.every((machine) => String(machine.id) !== id) === true;
    if (isUnknown) setText(title, `There is no machine ${id} in the site file`);
    hint.hidden = !isUnknown;
    panel.hidden = isUnknown;
    state.root.hidden = isUnknown;
    // That of a vibration sensor says most; the others are a click away.
    const shown = sensors.find(({ kinds }) => kinds.includes("accel")) ?? first;
    if (trend === null && shown !== undefined) {
      trend = new TrendPanel(api, model, theme, shown);
      replace(trendPlace, trend.root);
    }
    if (shown !== undefined) trend?.offer(shown);
    const seen = sensors.map((one) => [
      one.code,
      one.state,
      one.enabled,
      one.zone,
      sensorName(one),
    ]);
    replaceAnew(list, JSON.stringify([seen, model.sensors.size === 0]), () => [
      ...sensors.map((sensor) =>
        h(
          "li",
          { class: "alarm-head" },
          stateBadge(sensor.state, sensor.enabled),
          h("a", { href: linkTo("sensor", sensor.code) }, sensorName(sensor)),
          sensor.zone !== null && zoneBadge(sensor.zone),
        ),
      ),
      sensors.length === 0 &&
        h(
          "li",
          { class: "hint" },
          model.sensors.size === 0
            ? "Reading the sensors …"
            : "No sensor is assigned to this machine.",
        ),
    ]);
  };
  const showSections = (): void => {
    sections = MACHINE_SECTIONS.map((make) => make({ api, model, theme }, Number(id)));
    for (const [at, { root }] of sections.entries()) sectionPlaces[at]?.replaceWith(root);
  };
  const soon = oncePerFrame(show);
  const unsubscribe = model.subscribe((change) => {
    if (change === "sensors" || change === "status") soon();
  });
  show();
  api.machines().then(
    (machines) => {
      listed = machines;
      show();
      if (machines.some((machine) => String(machine.id) === id)) showSections();
    },
    // Without the list, the page says that the machine has no sensors.
    () => {},
  );
  return () => {
    unsubscribe();
    findings.stop();
    state.stop();
    trend?.stop();
    for (const section of sections) section.stop?.();
  };
}

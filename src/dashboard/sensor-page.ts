import type { ShownSensor } from "../core/query/shown.ts";
import type { Api } from "./api.ts";
import {
  arrange,
  type Cleanup,
  h,
  oncePerFrame,
  replace,
  replaceAnew,
  setAttribute,
  setText,
} from "./dom.ts";
import { faultsPanel } from "./faults-panel.ts";
import { findingsPanel } from "./findings-panel.ts";
import { age, interval } from "./format.ts";
import { gapsPanel } from "./gaps-panel.ts";
import { LatestValues } from "./latest-values.ts";
import { batteryNode, notLiveWords, stateBadge, zoneBadge } from "./marks.ts";
import type { Model } from "./model.ts";
import { linkTo } from "./place-link.ts";
import { areaName, machineName, sensorName } from "./sensor-filter.ts";
import { SignalPanel } from "./signal-panel.ts";
import type { Theme } from "./theme.ts";
import { TrendPanel } from "./trend-panel.ts";
import { machineClassWords, ZONE_WORDS } from "./words.ts";

/** Everything about one sensor. Filled in once the sensors are known. */
export function sensorPage(
  parent: HTMLElement,
  api: Api,
  model: Model,
  theme: Theme,
  code: string,
): Cleanup {
  const title = h("h1", { tabindex: -1 }, `Sensor ${code}`);
  const crumbs = h("nav", { class: "crumbs", "aria-label": "Place" });
  const badges = h("div", { class: "badges" });
  const facts = h("dl", { class: "facts" });
  const ageText = h("span");
  const hint = h("p", { class: "hint" }, "Reading the sensor …");
  const head = h(
    "section",
    { class: "panel head", "aria-label": "Sensor" },
    crumbs,
    h("div", { class: "title" }, title, badges),
    facts,
    hint,
  );
  const faults = faultsPanel(model, code);
  const gaps = gapsPanel(api, model, code);
  const latest = new LatestValues(model);
  let trend: TrendPanel | null = null;
  let signal: SignalPanel | null = null;
  let findings: ReturnType<typeof findingsPanel> | null = null;
  replace(parent, head);
  showCrumbs(crumbs, null);

  const build = (sensor: ShownSensor): void => {
    trend = new TrendPanel(api, model, theme, sensor);
    signal = sensor.kinds.includes("accel") ? new SignalPanel(api, model, theme, sensor) : null;
    const machine = sensor.location?.machine;
    const isHeard = sensor.kinds.includes("accel") && machine !== undefined;
    findings = isHeard ? findingsPanel(api, model, machine, { sensor: sensor.code }) : null;
    const all = [
      head,
      faults.root,
      trend.root,
      signal?.root,
      findings?.root,
      latest.root,
      gaps.root,
    ];
    arrange(
      parent,
      all.filter((one) => one !== undefined),
    );
  };
  const show = (): void => {
    const sensor = model.sensors.get(code);
    if (sensor === undefined) {
      const isKnown = model.sensors.size > 0 || model.status?.sensors.length === 0;
      if (!isKnown) return;
      setText(title, `There is no sensor ${code}`);
      replaceAnew(hint, "none", () => [
        "It is not in the site file, and no readings of it are stored. ",
        h("a", { href: "#/sensors" }, "Go to the sensors"),
      ]);
      return;
    }
    setText(title, sensorName(sensor));
    hint.hidden = true;
    showCrumbs(crumbs, sensor);
    const notLive = notLiveWords(model, sensor);
    const badgeKey = `${sensor.state} ${sensor.enabled} ${sensor.zone} ${notLive}`;
    replaceAnew(badges, badgeKey, () => [
      stateBadge(sensor.state, sensor.enabled),
      ...zoneWords(sensor, notLive),
    ]);
    showFacts(facts, sensor, ageText);
    tick();
    if (trend === null) build(sensor);
    latest.show(sensor);
    trend?.offer(sensor);
    signal?.follow(sensor);
  };
  const tick = (): void => {
    const lastMs = model.sensors.get(code)?.lastReadingMs ?? null;
    setText(ageText, lastMs === null ? "none yet" : `${age(model.gatewayNowMs() - lastMs)} ago`);
  };
  const soon = oncePerFrame(show);
  const unsubscribe = model.subscribe((change, changed) => {
    if (change === "sensors" || change === "status" || changed === code) soon();
    if (change !== "live" || !model.isLive) return;
    trend?.retry();
    signal?.retry();
  });
  const timer = setInterval(tick, 1_000);
  show();
  return () => {
    unsubscribe();
    clearInterval(timer);
    for (const stop of [faults.stop, gaps.stop]) stop();
    trend?.stop();
    signal?.stop();
    findings?.stop();
  };
}

function zoneWords({ zone }: ShownSensor, notLive: string): HTMLElement[] {
  if (zone === null) return [];
  const words = notLive === "" ? (ZONE_WORDS[zone] ?? "") : notLive;
  return [h("span", { class: "zone-words" }, zoneBadge(zone, notLive), ` ${words}`)];
}

/** The way to the sensor: built once, then its names are written. */
function showCrumbs(nav: HTMLElement, sensor: ShownSensor | null): void {
  const list =
    nav.firstElementChild ??
    h("ol", null, h("li", null, h("a", { href: "#/sensors" }, "All sensors")));
  if (!list.isConnected) nav.append(list);
  const machine = sensor?.location?.machine;
  const [all, area = h("li"), own = h("li", null, h("a"))] = list.children;
  if (all === undefined || sensor === null) return;
  setText(area, areaName(sensor));
  const link = own.firstElementChild;
  if (link === null) return;
  setText(link, machineName(sensor));
  setAttribute(link, "href", linkTo("machine", String(machine)));
  arrange(list, machine === undefined ? [all, area] : [all, area, own]);
}

function sensorLinks(codes: readonly string[]): Node | null {
  if (codes.length === 0) return null;
  const links = codes.map((code) => h("a", { href: linkTo("sensor", code) }, code));
  return h("span", null, ...links.flatMap((link, i) => (i === 0 ? [link] : [", ", link])));
}

/** Each fact is written by itself: what somebody selects to copy stays. */
function showFacts(list: HTMLElement, sensor: ShownSensor, ageText: HTMLElement): void {
  const facts = factsOf(sensor, ageText);
  const known = new Map(
    [...list.children].map((one) => [one.firstElementChild?.textContent ?? "", one]),
  );
  const shown = facts.map(([name, value]) => {
    const one = known.get(name) ?? h("div", null, h("dt", null, name), h("dd"));
    const place = one.lastElementChild ?? one;
    // The age writes itself.
    const key = value === ageText ? "" : typeof value === "string" ? value : value.textContent;
    replaceAnew(place, key ?? "", () => [value]);
    return one;
  });
  arrange(list, shown);
}

function factsOf(sensor: ShownSensor, ageText: HTMLElement) {
  const cadences = sensor.reads
    .map(({ cadenceS }) => cadenceS)
    .filter((cadence) => cadence !== null)
    .map(interval);
  const facts: (readonly [string, string | Node | null])[] = [
    ["Last reading", ageText],
    ["Sends every", cadences.length === 0 ? null : [...new Set(cadences)].join(", ")],
    ["Battery", sensor.batteryV === null ? null : batteryNode(sensor.batteryV, sensor.batteryLowV)],
    ["Firmware", sensor.firmware === null ? null : String(sensor.firmware)],
    ["Radio signal", sensor.signalDbm === null ? null : `${sensor.signalDbm}\u00a0dBm`],
    ["Serial", sensor.code],
    ["Type", sensor.state === "removed" ? null : String(sensor.type)],
    ["Replaces", sensorLinks(sensor.replaces)],
    ["Replaced by", sensorLinks(sensor.replacedBy === null ? [] : [sensor.replacedBy])],
    ["Model", sensor.model],
    ["Speed", sensor.speedRpm === null ? null : `${sensor.speedRpm}\u00a0rpm`],
    ["Machine class", machineClassWords(sensor.machineClass)],
    ["Note", sensor.description],
  ];
  return facts.filter((fact): fact is readonly [string, string | Node] => fact[1] !== null);
}

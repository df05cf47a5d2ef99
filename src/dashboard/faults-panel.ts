/** Current faults and what to do about them. */

import { grouped } from "../core/lists/grouped.ts";
import type { Fault } from "../core/query/fault.ts";
import {
  type Child,
  type Cleanup,
  h,
  keptList,
  oncePerFrame,
  replaceAnew,
  setAttribute,
  setText,
} from "./dom.ts";
import { boxFaultsOf } from "./header-state.ts";
import { nameInSite } from "./machine-words.ts";
import { timeNode, toneIcon } from "./marks.ts";
import type { Model } from "./model.ts";

/** More would hide the page; the number of the others is shown. */
const SHOWN_MAX = 12;
/** From this many on, sensors with the same fault share one entry. */
const SHARED_MIN = 3;

/** Faults of the whole plant, or of one sensor. Empty if there are none. */
export function faultsPanel(
  model: Model,
  sensor: string | null,
): { readonly root: HTMLElement; readonly stop: Cleanup } {
  const list = h("ul", { class: "faults" });
  const more = h("p", { class: "more" });
  const title = h("h2", { id: "faults-title" }, "Needs attention");
  const root = h(
    "section",
    { class: "panel attention", "aria-labelledby": "faults-title" },
    title,
    list,
    more,
  );
  const entries = faultList(model, list, sensor);
  const show = (): void => {
    // Those of the box have their line above.
    const box = new Set(boxFaultsOf(model.faults, model.agentNowMs()));
    const faults = model.faults.filter((fault) =>
      sensor === null ? !box.has(fault) && fault.code !== "no_sensors" : fault.subject === sensor,
    );
    setAttribute(root, "hidden", faults.length === 0);
    const all = shared(faults);
    const rest = all.length - SHOWN_MAX;
    entries(all.slice(0, SHOWN_MAX));
    more.hidden = rest <= 0;
    setText(more, `and ${rest} more`);
  };
  const unsubscribe = model.subscribe(oncePerFrame(show));
  show();
  return { root, stop: unsubscribe };
}

/** What stands of the box, its uplinks and the gateway: the worst as one line, what to do and the others behind it. */
export function boxLine(model: Model): { readonly root: HTMLElement; readonly stop: Cleanup } {
  const text = h("span", { class: "box-text" });
  const mark = h("span", { class: "mark" });
  const list = h("ul", { class: "faults" });
  const remedyText = h("p", { class: "remedy" });
  const remedy = h("li", null, h("div", null, remedyText));
  const first = h("ul", { class: "faults" }, remedy);
  const entries = faultList(model, list, null);
  const details = h("details", null, h("summary", null, mark, text), first, list);
  const root = h(
    "section",
    { class: "panel box-line", id: "attention", "aria-label": "Faults of this box", hidden: true },
    details,
  );
  const show = (): void => {
    const faults = boxFaultsOf(model.faults, model.agentNowMs());
    root.hidden = faults.length === 0;
    const [first, ...others] = [...faults].sort(bySeverity);
    if (first === undefined) return;
    replaceAnew(mark, first.severity, () => [
      toneIcon(first.severity === "error" ? "bad" : "warn"),
    ]);
    setAttribute(root, "data-severity", first.severity);
    setText(text, `${first.what}${others.length > 0 ? ` And ${others.length} more.` : ""}`);
    setAttribute(remedy, "class", `fault ${first.severity}`);
    setAttribute(remedy, "data-code", first.code);
    replaceAnew(remedyText, JSON.stringify(first), () => remedyOf(model, first));
    list.hidden = others.length === 0;
    entries(others.map((fault) => [fault]));
  };
  const unsubscribe = model.subscribe(oncePerFrame(show));
  show();
  return { root, stop: unsubscribe };
}

const bySeverity = (a: Fault, b: Fault) =>
  Number(a.severity !== "error") - Number(b.severity !== "error");

function remedyOf(model: Model, { remedy, sinceMs }: Fault): Child[] {
  return [remedy, sinceMs !== null && " Since ", sinceMs !== null && timeNode(model, sinceMs)];
}

type Alike = readonly Fault[];

/** Each fault is one entry for as long as it stands, whatever its words are. */
function faultList(model: Model, list: HTMLElement, sensor: string | null) {
  return keptList<Alike>(
    list,
    (alike) => `${alike.length > 1} ${alike[0]?.code} ${alike.length > 1 ? "" : alike[0]?.subject}`,
    (alike) => (alike.length > 1 ? sharedItem(model) : faultItem(model, sensor)),
  );
}

function faultItem(model: Model, sensor: string | null) {
  const icon = h("span", { class: "mark" });
  const severity = h("span", { class: "sr" });
  const what = h("span");
  const since = h("span", { class: "since" });
  const remedy = h("span");
  const link = h("a", null, "Show the sensor");
  const root = h(
    "li",
    null,
    icon,
    h(
      "div",
      null,
      h("p", { class: "what" }, severity, what, since),
      h("p", { class: "remedy" }, remedy, " ", link),
    ),
  );
  return {
    root,
    update([fault]: Alike): void {
      if (fault === undefined) return;
      const isError = fault.severity === "error";
      setAttribute(root, "class", `fault ${fault.severity}`);
      setAttribute(root, "data-code", fault.code);
      replaceAnew(icon, fault.severity, () => [toneIcon(isError ? "bad" : "warn")]);
      setText(severity, isError ? "Error: " : "Warning: ");
      setText(what, fault.what);
      showSince(model, since, fault);
      setText(remedy, fault.remedy);
      setAttribute(link, "href", sensorLink(fault.subject));
      link.hidden = !model.sensors.has(fault.subject) || sensor !== null;
    },
  };
}

function showSince(model: Model, place: HTMLElement, { sinceMs }: Fault): void {
  replaceAnew(place, String(sinceMs), () =>
    sinceMs === null ? [] : [" since ", timeNode(model, sinceMs)],
  );
}

/** Groups sensors with the same fault; everything else stays separate. */
function shared(faults: readonly Fault[]): (readonly Fault[])[] {
  return [...grouped(faults, ({ code }) => code).values()].flatMap((alike) =>
    alike.length >= SHARED_MIN && alike[0]?.code === "sensor_silent"
      ? [alike]
      : alike.map((fault) => [fault]),
  );
}

const NAMED_MAX = 24;
const SILENT_REMEDY =
  "Check their batteries and their radio path to the gateway, starting with what they share: a repeater, a power supply, an antenna.";

function sharedItem(model: Model) {
  const what = h("span");
  const links = h("span");
  const rest = h("span");
  const named = keptList<{ readonly fault: Fault; readonly at: number }>(
    links,
    ({ fault }) => fault.subject,
    ({ fault: { subject } }) => {
      const comma = h("span");
      const link = h("a", { href: sensorLink(subject) });
      const since = h("span", { class: "since" });
      return {
        root: h("span", null, comma, link, since),
        update({ fault, at }): void {
          setText(comma, at > 0 ? ", " : "");
          setText(link, nameInSite(model, subject));
          showSince(model, since, fault);
        },
      };
    },
  );
  const root = h(
    "li",
    { class: "fault warning" },
    h("span", { class: "mark" }, toneIcon("warn")),
    h(
      "div",
      null,
      h("p", { class: "what" }, h("span", { class: "sr" }, "Warning: "), what),
      h("p", { class: "remedy" }, SILENT_REMEDY),
      h("p", null, links, rest),
    ),
  );
  return {
    root,
    update(faults: Alike): void {
      setAttribute(root, "data-code", faults[0]?.code);
      setText(
        what,
        `${faults.length} sensors have sent nothing for more than three of their intervals.`,
      );
      named(faults.slice(0, NAMED_MAX).map((fault, at) => ({ fault, at })));
      setText(rest, faults.length > NAMED_MAX ? ` and ${faults.length - NAMED_MAX} more` : "");
    },
  };
}

export function sensorLink(code: string): string {
  return `#/sensor/${encodeURIComponent(code)}`;
}

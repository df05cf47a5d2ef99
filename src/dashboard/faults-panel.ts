/** Current faults and what to do about them; readings that were dropped. */

import type { Gap } from "../core/delivery.ts";
import { grouped } from "../core/grouped.ts";
import type { Fault } from "../core/query/fault.ts";
import {
  arrange,
  type Child,
  type Cleanup,
  h,
  oncePerFrame,
  replace,
  replaceAnew,
  setAttribute,
  setText,
} from "./dom.ts";
import { count } from "./format.ts";
import { boxFaultsOf } from "./header-state.ts";
import { nameInSite } from "./machine-words.ts";
import { timeNode, toneIcon } from "./marks.ts";
import type { Model } from "./model.ts";
import { gapReason, KIND_WORDS } from "./words.ts";

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
  const title = h("h2", { id: "faults-title" }, "Needs attention");
  const root = h(
    "section",
    { class: "panel attention", "aria-labelledby": "faults-title" },
    title,
    list,
  );
  let shown = "";
  const show = (): void => {
    // Those of the box have their line above.
    const box = new Set(boxFaultsOf(model.faults, model.agentNowMs()));
    const faults = model.faults.filter((fault) =>
      sensor === null ? !box.has(fault) && fault.code !== "no_sensors" : fault.subject === sensor,
    );
    setAttribute(root, "hidden", faults.length === 0);
    const key = `${model.times.zone}${JSON.stringify(faults)}`;
    if (key === shown) return;
    shown = key;
    const entries = shared(faults);
    const rest = entries.length - SHOWN_MAX;
    replace(
      list,
      ...entries
        .slice(0, SHOWN_MAX)
        .map((alike) =>
          alike.length === 1
            ? alike.map((fault) => faultItem(model, fault, sensor))
            : [sharedItem(model, alike)],
        )
        .flat(),
      rest > 0 && h("li", { class: "more" }, `and ${rest} more`),
    );
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
  const details = h("details", null, h("summary", null, mark, text), list);
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
    replaceAnew(list, `${model.times.zone}${JSON.stringify(faults)}`, () => [
      h(
        "li",
        { class: `fault ${first.severity}`, "data-code": first.code },
        h("div", null, h("p", { class: "remedy" }, ...remedyOf(model, first))),
      ),
      ...others.map((fault) => faultItem(model, fault, null)),
    ]);
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

function faultItem(model: Model, fault: Fault, sensor: string | null): HTMLElement {
  const isSensor = model.sensors.has(fault.subject) && sensor === null;
  return h(
    "li",
    { class: `fault ${fault.severity}`, "data-code": fault.code },
    toneIcon(fault.severity === "error" ? "bad" : "warn"),
    h(
      "div",
      null,
      h(
        "p",
        { class: "what" },
        h("span", { class: "sr" }, `${fault.severity === "error" ? "Error" : "Warning"}: `),
        fault.what,
        fault.sinceMs !== null &&
          h("span", { class: "since" }, " since ", timeNode(model, fault.sinceMs)),
      ),
      h(
        "p",
        { class: "remedy" },
        fault.remedy,
        isSensor && " ",
        isSensor && h("a", { href: sensorLink(fault.subject) }, "Show the sensor"),
      ),
    ),
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

function sharedItem(model: Model, faults: readonly Fault[]): HTMLElement {
  const links = faults
    .slice(0, NAMED_MAX)
    .map(({ subject, sinceMs }, i) =>
      h(
        "span",
        null,
        i > 0 && ", ",
        h("a", { href: sensorLink(subject) }, nameInSite(model, subject)),
        sinceMs !== null && h("span", { class: "since" }, " since ", timeNode(model, sinceMs)),
      ),
    );
  const rest = faults.length - links.length;
  return h(
    "li",
    { class: "fault warning", "data-code": faults[0]?.code ?? "" },
    toneIcon("warn"),
    h(
      "div",
      null,
      h(
        "p",
        { class: "what" },
        h("span", { class: "sr" }, "Warning: "),
        `${faults.length} sensors have sent nothing for more than three of their intervals.`,
      ),
      h("p", { class: "remedy" }, SILENT_REMEDY),
      h("p", null, ...links, rest > 0 && ` and ${rest} more`),
    ),
  );
}

export function sensorLink(code: string): string {
  return `#/sensor/${encodeURIComponent(code)}`;
}

/** Readings that were dropped, newest first; hidden if there are none. */
export function gapsPanel(
  model: Model,
  sensor: string | null,
): { readonly root: HTMLElement; readonly stop: Cleanup } {
  const body = h("tbody");
  let rows = new Map<string, HTMLElement>();
  const root = h(
    "section",
    { class: "panel", "aria-labelledby": "gaps-title" },
    h("h2", { id: "gaps-title" }, "Dropped readings"),
    h(
      "p",
      { class: "hint" },
      "These readings never reached the broker. If the gateway still has those days, gateside backfill can read them again.",
    ),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "group", "aria-label": "Dropped readings" },
      h(
        "table",
        { class: "plain" },
        h(
          "thead",
          null,
          h("tr", null, ...["Sensor", "Kind", "From", "To", "Readings", "Why"].map(heading)),
        ),
        body,
      ),
    ),
  );
  const show = (): void => {
    const gaps = model.gaps.filter((gap) => sensor === null || gap.sensor === sensor);
    setAttribute(root, "hidden", gaps.length === 0);
    const seen = gaps.map((gap) => {
      const row = rows.get(JSON.stringify(gap)) ?? gapRow(model, gap);
      const name = row.querySelector("a");
      if (name !== null) setText(name, nameInSite(model, gap.sensor));
      return [JSON.stringify(gap), row] as const;
    });
    rows = new Map(seen);
    arrange(body, [...rows.values()]);
  };
  const unsubscribe = model.subscribe((change) => {
    if (change === "gaps" || change === "sensors") show();
  });
  show();
  return { root, stop: unsubscribe };
}

function heading(text: string): HTMLElement {
  return h("th", { scope: "col" }, text);
}

function gapRow(model: Model, gap: Gap): HTMLElement {
  return h(
    "tr",
    null,
    h(
      "th",
      { scope: "row" },
      h("a", { href: sensorLink(gap.sensor) }, nameInSite(model, gap.sensor)),
    ),
    h("td", null, KIND_WORDS[gap.kind]),
    h("td", null, timeNode(model, gap.fromMs, "full")),
    h("td", null, timeNode(model, gap.toMs, "full")),
    h("td", { class: "number" }, count(gap.count)),
    h("td", null, gapReason(gap.reason)),
  );
}

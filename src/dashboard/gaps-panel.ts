/** Readings that were dropped. */
import type { Gap } from "../core/delivery/delivery.ts";
import type { Api } from "./api.ts";
import { type Cleanup, h, keptList, setAttribute, setText } from "./dom.ts";
import { sensorLink } from "./faults-panel.ts";
import { count } from "./format.ts";
import { nameInSite } from "./machine-words.ts";
import { timeNode } from "./marks.ts";
import type { Model } from "./model.ts";
import { Refresh } from "./refresh.ts";
import { gapReason, KIND_WORDS } from "./words.ts";

/** Readings that were dropped, newest first; hidden if there are none. */
export function gapsPanel(
  api: Api,
  model: Model,
  sensor: string | null,
): { readonly root: HTMLElement; readonly stop: Cleanup } {
  const body = h("tbody");
  const rows = keptList<Gap>(
    body,
    (gap) => JSON.stringify(gap),
    (gap) => gapRow(model, gap),
  );
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
  let gaps: readonly Gap[] = [];
  const show = (): void => {
    setAttribute(root, "hidden", gaps.length === 0);
    rows(gaps);
  };
  // After an outage a sensor's may not be among the newest of all.
  const own = new Refresh(
    async (asking) => {
      const found = await api.gaps(asking, sensor === null ? {} : { sensor });
      return () => {
        gaps = found;
        show();
      };
    },
    // Asked again with the next ones of all.
    () => {},
  );
  const unsubscribe = model.subscribe((change) => {
    if (change === "gaps" && sensor !== null) own.change();
    if (change === "gaps" && sensor === null) gaps = model.gaps;
    if (change === "gaps" || change === "sensors") show();
  });
  if (sensor === null) gaps = model.gaps;
  else own.change();
  show();
  return {
    root,
    stop: () => {
      unsubscribe();
      own.stop();
    },
  };
}

function heading(text: string): HTMLElement {
  return h("th", { scope: "col" }, text);
}

function gapRow(model: Model, gap: Gap) {
  const name = h("a", { href: sensorLink(gap.sensor) });
  return {
    root: h(
      "tr",
      null,
      h("th", { scope: "row" }, name),
      h("td", null, KIND_WORDS[gap.kind]),
      h("td", null, timeNode(model, gap.fromMs, "full")),
      h("td", null, timeNode(model, gap.toMs, "full")),
      h("td", { class: "number" }, count(gap.count)),
      h("td", null, gapReason(gap.reason)),
    ),
    update: () => void setText(name, nameInSite(model, gap.sensor)),
  };
}

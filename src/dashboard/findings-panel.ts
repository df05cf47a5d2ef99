/** Findings of diagnosis on a machine, each line of evidence one click from the spectrum that shows it. */

import { FINDINGS } from "../core/diagnosis/finding.ts";
import type { MachineFindings } from "../core/diagnosis/shown.ts";
import { findingName } from "../core/diagnosis/titles.ts";
import type { Machine } from "../core/machine.ts";
import type { Api } from "./api.ts";
import { type Cleanup, h, keptList, replaceAnew, setText } from "./dom.ts";
import { FindingItem, type ShownFinding } from "./finding-item.ts";
import { nameInSite } from "./machine-words.ts";
import type { Model } from "./model.ts";
import { reasonLines } from "./reason-lines.ts";
import { type Asking, Refresh } from "./refresh.ts";
import type { Theme } from "./theme.ts";

const REFRESH_MS = 30_000;
/** Whose spectra are drawn at once; the others are one click away. */
const SPECTRA_MAX = 3;

/**
 * Of one machine, with the spectra that show its findings, or of one of its sensors. Hidden if findings are disabled or
 * the agent has none.
 */
export function findingsPanel(
  api: Api,
  model: Model,
  id: number,
  of: { readonly sensor: string } | { readonly theme: Theme },
): { readonly root: HTMLElement; readonly stop: Cleanup } {
  const none = h("p", { class: "hint" }, "No findings.");
  const list = h("ul", { class: "alarms" });
  const checked = h(
    "details",
    null,
    h("summary", null, "What was checked, and what could not be determined"),
  );
  const looked = h("div", { class: "looked" });
  checked.append(looked);
  const root = h(
    "section",
    { class: "panel", "aria-labelledby": "findings-title", hidden: true },
    h("h2", { id: "findings-title" }, "Findings"),
    none,
    list,
    checked,
  );
  const sensor = "sensor" in of ? of.sensor : null;
  const showFindings = keptList<ShownFinding>(
    list,
    ({ finding }) => finding.id,
    () => new FindingItem(api, model, "theme" in of ? of.theme : null),
  );
  const showLooks = keptList<Look>(
    looked,
    (look) => look.sensor,
    () => lookItem(model),
  );
  let machine: Machine | null = null;
  let last: MachineFindings | null = null;
  const ask = async (asking: Asking): Promise<() => void> => {
    // A machine without data in the site file is not requested.
    machine ??= (await api.machines(asking)).find((one) => one.id === id) ?? null;
    if (machine === null) return () => {};
    const result = await api.findings(id, asking);
    return () => {
      last = result;
      show(result);
    };
  };
  const show = (result: MachineFindings): void => {
    const findings = result.findings.filter((one) => sensor === null || one.sensor === sensor);
    root.hidden = false;
    none.hidden = findings.length > 0;
    showFindings(findings.map((finding, i) => ({ finding, machine, isDrawn: i < SPECTRA_MAX })));
    showLooks(result.checked.filter((one) => sensor === null || one.sensor === sensor));
  };
  const refresh = new Refresh(ask, () => {}, {
    ms: REFRESH_MS,
    isDue: () => model.isLive && !document.hidden,
  });
  refresh.change();
  let told = "";
  const unsubscribe = model.subscribe((change) => {
    // The state above names a finding at once: the list under it must not say otherwise until the next refresh.
    if (change === "machines") {
      const own = model.machines?.find((one) => one.id === id);
      const now = `${own?.findings} ${own?.worstStage}`;
      if (told !== "" && now !== told) refresh.change();
      told = now;
    }
    if (change !== "sensors") return;
    // Findings may be there before the sensors, whose names they show.
    if (last !== null) show(last);
    // The site file may say something else about the machine.
    machine = null;
    refresh.change();
  });
  const stop = (): void => {
    unsubscribe();
    refresh.stop();
    showFindings([]);
  };
  return { root, stop };
}

type Look = MachineFindings["checked"][number];

function lookItem(model: Model) {
  const name = h("h3");
  const words = h("p", { class: "sub" });
  const reasons = h("ul");
  return {
    root: h("div", null, name, words, reasons),
    update(look: Look): void {
      const what = look.lookedFor.map((key) => nameOfKey(key.replace(/\/.*/, "")).toLowerCase());
      const lines = reasonLines(look.cannotTell);
      setText(name, nameInSite(model, look.sensor));
      setText(
        words,
        look.time === null
          ? "No reading has been analysed since the agent started."
          : `Looked for: ${[...new Set(what)].join(", ") || "nothing"}.`,
      );
      replaceAnew(reasons, lines.join("\n"), () =>
        lines.map((text) => h("li", { class: "sub" }, text)),
      );
    },
  };
}

function nameOfKey(key: string): string {
  const known = FINDINGS.find((finding) => finding === key);
  return known === undefined ? key.replaceAll("_", " ") : findingName(known);
}

/** Findings of diagnosis on a machine, each line of evidence one click from the spectrum that shows it. */

import { FINDINGS } from "../core/diagnosis/finding.ts";
import type { FindingView, MachineFindings } from "../core/diagnosis/shown.ts";
import { findingName } from "../core/diagnosis/titles.ts";
import type { Machine } from "../core/machine.ts";
import { frequencyScale } from "../core/read-units.ts";
import type { Api } from "./api.ts";
import { type Cleanup, h, replace } from "./dom.ts";
import { evidenceLink } from "./evidence-link.ts";
import { FindingSpectrum } from "./finding-spectrum.ts";
import { number } from "./format.ts";
import { nameInSite } from "./machine-words.ts";
import { badge, timeNode } from "./marks.ts";
import type { Model } from "./model.ts";
import { linkTo } from "./place-link.ts";
import { reasonLines } from "./reason-lines.ts";
import { type Asking, Refresh } from "./refresh.ts";
import type { Theme } from "./theme.ts";
import { unitsKept } from "./units-kept.ts";

const REFRESH_MS = 30_000;
const STAGES: Readonly<Record<number, readonly ["warn" | "bad", string]>> = {
  1: ["warn", "early"],
  2: ["warn", "clear"],
  3: ["bad", "severe"],
};

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
    list,
    checked,
  );
  const sensor = "sensor" in of ? of.sensor : null;
  const spectra = new Map<string, FindingSpectrum>();
  /** One that is drawn already stays as somebody has zoomed it. */
  const spectrumOf = (finding: FindingView, rank: number): FindingSpectrum => {
    const theme = "sensor" in of || rank >= SPECTRA_MAX ? null : of.theme;
    const key = `${finding.id} ${finding.readingId} ${theme === null}`;
    const drawn = spectra.get(key) ?? new FindingSpectrum(api, model, theme, finding, machine);
    spectra.set(key, drawn);
    return drawn;
  };
  let shown = "";
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
    const looks = result.checked.filter((one) => sensor === null || one.sensor === sensor);
    const key = JSON.stringify([findings, looks, model.times.zone, model.sensors.size]);
    root.hidden = false;
    if (key === shown) return;
    shown = key;
    const drawn = findings.map(spectrumOf);
    for (const [key, spectrum] of spectra) {
      if (drawn.includes(spectrum)) continue;
      spectrum.stop();
      spectra.delete(key);
    }
    replace(
      list,
      ...findings.flatMap((finding, i) =>
        drawn[i] === undefined ? [] : [findingItem(model, finding, machine, drawn[i])],
      ),
      findings.length === 0 && h("li", { class: "hint" }, "No findings."),
    );
    replace(looked, ...looks.map((look) => lookItem(model, look)));
  };
  const refresh = new Refresh(ask, () => {}, {
    ms: REFRESH_MS,
    isDue: () => model.isLive && !document.hidden,
  });
  refresh.change();
  // Findings may be there before the sensors, whose names they show.
  const unsubscribe = model.subscribe((change) => {
    if (change === "sensors" && last !== null) show(last);
  });
  const stop = (): void => {
    unsubscribe();
    refresh.stop();
    for (const spectrum of spectra.values()) spectrum.stop();
  };
  return { root, stop };
}

function findingItem(
  model: Model,
  finding: FindingView,
  machine: Machine | null,
  spectrum: FindingSpectrum,
): HTMLElement {
  const [tone, words] = STAGES[finding.stage] ?? ["warn", ""];
  const { bearing, speedRpm, level, limit, unit, inRow } = finding;
  return h(
    "li",
    {
      class: `alarm ${finding.stage === 3 ? "severe" : "warning"}`,
      "data-finding": finding.finding,
    },
    h(
      "div",
      { class: "alarm-head" },
      badge(tone, `Stage ${finding.stage}, ${words}`),
      h("strong", null, findingName(finding.finding)),
      bearing !== null &&
        h("span", { class: "sub" }, `bearing ${bearing}, ${pointName(model, finding)}`),
      h("a", { href: linkTo("sensor", finding.sensor) }, nameInSite(model, finding.sensor)),
    ),
    h("p", null, finding.text),
    h(
      "p",
      { class: "sub" },
      "since ",
      timeNode(model, Date.parse(finding.since)),
      ", last seen ",
      timeNode(model, Date.parse(finding.lastSeen)),
      inRow > 0 ? `, in ${inRow} readings in a row` : ", not in the newest reading",
      ` · ${number(level)} ${unit} RMS, threshold ${number(limit)} ${unit} RMS, at ${number(speedRpm, "rpm")} rpm`,
    ),
    spectrum.root,
    evidenceTable(finding, machine, spectrum.amplitudes),
  );
}

function evidenceTable(
  finding: FindingView,
  machine: Machine | null,
  amplitudes: readonly HTMLElement[],
): HTMLElement {
  const heads = ["Line", "Spectrum", "Frequency", "Multiple of speed", "Amplitude", "Side bands"];
  const { frequency } = unitsKept();
  // The next column has the orders.
  const { words } = frequencyScale(frequency === "orders" ? "Hz" : frequency, null);
  return h(
    "div",
    {
      class: "scroll",
      tabindex: 0,
      role: "group",
      "aria-label": `Evidence: ${findingName(finding.finding)}`,
    },
    h(
      "table",
      { class: "plain evidence" },
      h("thead", null, h("tr", null, ...heads.map((text) => h("th", { scope: "col" }, text)))),
      h(
        "tbody",
        null,
        ...finding.evidence.map((line, i) =>
          h(
            "tr",
            null,
            h(
              "th",
              { scope: "row" },
              h("a", { href: evidenceLink(finding, line, machine) }, `Show ${line.name}`),
            ),
            h("td", null, `${line.spectrum}, axis ${line.axis}`),
            h("td", null, words(line.hz)),
            h("td", null, `${line.order.toFixed(2)}x`),
            amplitudes[i],
            h("td", null, line.sideBands.length === 0 ? "none" : String(line.sideBands.length)),
          ),
        ),
      ),
    ),
  );
}

function lookItem(model: Model, look: MachineFindings["checked"][number]): HTMLElement {
  const what = look.lookedFor.map((key) => nameOfKey(key.replace(/\/.*/, "")).toLowerCase());
  return h(
    "div",
    null,
    h("h3", null, nameInSite(model, look.sensor)),
    h(
      "p",
      { class: "sub" },
      look.time === null
        ? "No reading has been analysed since the agent started."
        : `Looked for: ${[...new Set(what)].join(", ") || "nothing"}.`,
    ),
    h("ul", null, ...reasonLines(look.cannotTell).map((text) => h("li", { class: "sub" }, text))),
  );
}

/** Bearings of several points may have the same name. */
function pointName(model: Model, { sensor, point }: FindingView): string {
  const name = model.sensors.get(sensor)?.location?.names?.point;
  return name === undefined ? `point ${point}` : `point ${point} (${name})`;
}

function nameOfKey(key: string): string {
  const known = FINDINGS.find((finding) => finding === key);
  return known === undefined ? key.replaceAll("_", " ") : findingName(known);
}

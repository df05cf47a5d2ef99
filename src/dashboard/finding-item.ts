/** A finding with its evidence: built once, then only changes are written, so that a link stays under a hand while measurements come. */
import type { EvidenceLine } from "../core/diagnosis/finding.ts";
import type { FindingView } from "../core/diagnosis/shown.ts";
import { findingName } from "../core/diagnosis/titles.ts";
import type { Machine } from "../core/machine.ts";
import { frequencyScale } from "../core/read-units.ts";
import type { Api } from "./api.ts";
import { h, keptList, replace, replaceAnew, setAttribute, setText } from "./dom.ts";
import { evidenceLink } from "./evidence-link.ts";
import { FindingSpectrum } from "./finding-spectrum.ts";
import { number } from "./format.ts";
import { nameInSite } from "./machine-words.ts";
import { badge, timeNode, writeTime } from "./marks.ts";
import type { Model } from "./model.ts";
import { linkTo } from "./place-link.ts";
import type { Theme } from "./theme.ts";
import { unitsKept } from "./units-kept.ts";

const STAGES: Readonly<Record<number, readonly ["warn" | "bad", string]>> = {
  1: ["warn", "early"],
  2: ["warn", "clear"],
  3: ["bad", "severe"],
};

export interface ShownFinding {
  readonly finding: FindingView;
  readonly machine: Machine | null;
  /** With the spectrum that shows it. */
  readonly isDrawn: boolean;
}

export class FindingItem {
  readonly root: HTMLElement;
  readonly #api: Api;
  readonly #model: Model;
  readonly #theme: Theme | null;
  readonly #stage = h("span");
  readonly #name = h("strong");
  readonly #bearing = h("span", { class: "sub" });
  readonly #sensor = h("a");
  readonly #text = h("p");
  readonly #since: HTMLElement;
  readonly #seen: HTMLElement;
  readonly #more = h("span");
  readonly #place = h("div");
  readonly #evidence = evidenceTable();
  #spectrum: FindingSpectrum | null = null;
  #shown: ShownFinding | null = null;
  #amplitudes: readonly string[] = [];

  /** @param theme null where no spectrum is drawn */
  constructor(api: Api, model: Model, theme: Theme | null) {
    this.#api = api;
    this.#model = model;
    this.#theme = theme;
    this.#since = timeNode(model, 0);
    this.#seen = timeNode(model, 0);
    this.root = h(
      "li",
      null,
      h("div", { class: "alarm-head" }, this.#stage, this.#name, this.#bearing, this.#sensor),
      this.#text,
      h("p", { class: "sub" }, "since ", this.#since, ", last seen ", this.#seen, this.#more),
      this.#place,
      this.#evidence.root,
    );
  }

  update({ finding, machine, isDrawn }: ShownFinding): void {
    const { bearing, speedRpm, level, limit, unit, inRow, stage } = finding;
    const model = this.#model;
    const [tone, words] = STAGES[stage] ?? ["warn", ""];
    setAttribute(this.root, "class", `alarm ${stage === 3 ? "severe" : "warning"}`);
    setAttribute(this.root, "data-finding", finding.finding);
    replaceAnew(this.#stage, String(stage), () => [badge(tone, `Stage ${stage}, ${words}`)]);
    setText(this.#name, findingName(finding.finding));
    setText(
      this.#bearing,
      bearing === null ? "" : `bearing ${bearing}, ${pointName(model, finding)}`,
    );
    this.#bearing.hidden = bearing === null;
    setAttribute(this.#sensor, "href", linkTo("sensor", finding.sensor));
    setText(this.#sensor, nameInSite(model, finding.sensor));
    setText(this.#text, finding.text);
    writeTime(this.#since, model, Date.parse(finding.since));
    writeTime(this.#seen, model, Date.parse(finding.lastSeen));
    const row = inRow > 0 ? `, in ${inRow} readings in a row` : ", not in the newest reading";
    setText(
      this.#more,
      `${row} · ${number(level)} ${unit} RMS, threshold ${number(limit)} ${unit} RMS, at ${number(speedRpm, "rpm")} rpm`,
    );
    this.#shown = { finding, machine, isDrawn };
    this.#draw(isDrawn);
    this.#spectrum?.show(finding, machine);
    this.#showEvidence();
  }

  #showEvidence(): void {
    if (this.#shown !== null) this.#evidence.update(this.#shown, this.#amplitudes);
  }

  readonly stop = (): void => {
    this.#spectrum?.stop();
    this.#spectrum = null;
  };

  /** What its spectra draw stands in the table, too, where none is drawn here. */
  #draw(isDrawn: boolean): void {
    const theme = isDrawn ? this.#theme : null;
    if (this.#spectrum !== null && (this.#spectrum.root === null) === (theme === null)) return;
    this.stop();
    this.#spectrum = new FindingSpectrum(this.#api, this.#model, theme, (amplitudes) => {
      this.#amplitudes = amplitudes;
      this.#showEvidence();
    });
    replace(this.#place, this.#spectrum.root);
  }
}

const HEADS = ["Line", "Spectrum", "Frequency", "Multiple of speed", "Amplitude", "Side bands"];

function evidenceTable() {
  const body = h("tbody");
  const root = h(
    "div",
    { class: "scroll", tabindex: 0, role: "group" },
    h(
      "table",
      { class: "plain evidence" },
      h("thead", null, h("tr", null, ...HEADS.map((text) => h("th", { scope: "col" }, text)))),
      body,
    ),
  );
  const rows = keptList<Evidence>(
    body,
    ({ line: { name, spectrum, channel } }) => `${name} ${spectrum} ${channel}`,
    evidenceRow,
  );
  return {
    root,
    update({ finding, machine }: ShownFinding, amplitudes: readonly string[]): void {
      setAttribute(root, "aria-label", `Evidence: ${findingName(finding.finding)}`);
      rows(
        finding.evidence.map((line, i) => ({
          line,
          amplitude: amplitudes[i] ?? "…",
          finding,
          machine,
        })),
      );
    },
  };
}

interface Evidence {
  readonly line: EvidenceLine;
  readonly amplitude: string;
  readonly finding: FindingView;
  readonly machine: Machine | null;
}

function evidenceRow() {
  const link = h("a");
  const cells = HEADS.slice(1).map(() => h("td"));
  return {
    root: h("tr", null, h("th", { scope: "row" }, link), ...cells),
    update({ line, amplitude, finding, machine }: Evidence): void {
      const { frequency } = unitsKept();
      // The next column has the orders.
      const scale = frequencyScale(frequency === "orders" ? "Hz" : frequency, null);
      setText(link, `Show ${line.name}`);
      setAttribute(link, "href", evidenceLink(finding, line, machine));
      const texts = [
        `${line.spectrum}, axis ${line.axis}`,
        scale.words(line.hz),
        `${line.order.toFixed(2)}x`,
        amplitude,
        line.sideBands.length === 0 ? "none" : String(line.sideBands.length),
      ];
      for (const [i, cell] of cells.entries()) setText(cell, texts[i] ?? "");
    },
  };
}

/** Bearings of several points may have the same name. */
function pointName(model: Model, { sensor, point }: FindingView): string {
  const name = model.sensors.get(sensor)?.location?.names?.point;
  return name === undefined ? `point ${point}` : `point ${point} (${name})`;
}

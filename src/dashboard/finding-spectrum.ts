/**
 * The spectrum in which a finding stands, with the lines of the part concerned, at the finding's own speed; and what its
 * spectra draw at the lines of its evidence.
 */

import type { EvidenceLine } from "../core/diagnosis/finding.ts";
import type { FindingView } from "../core/diagnosis/shown.ts";
import { drawnLine } from "../core/drawing/drawn-line.ts";
import type { Machine } from "../core/machine.ts";
import { messageOf } from "../core/thrown.ts";
import { SIGNAL_UNITS } from "../core/unit.ts";
import type { Api } from "./api.ts";
import { Chart } from "./chart.ts";
import { chartTools } from "./chart-tools.ts";
import { type Cleanup, h, setText } from "./dom.ts";
import { markersOf } from "./evidence-link.ts";
import { number, quantity } from "./format.ts";
import type { Model } from "./model.ts";
import { type Asking, Refresh } from "./refresh.ts";
import type { SpectrumSeries } from "./series.ts";
import { spectrumSpec } from "./signal-specs.ts";
import { markerSets } from "./spectrum-markers.ts";
import { ENVELOPE_UNIT } from "./spectrum-tools.ts";
import type { Theme } from "./theme.ts";
import { unitsKept } from "./units-kept.ts";

/** Beyond the farthest line of the evidence. */
const MARGIN = 1.3;
/** After a failure. */
const RETRY_MS = 10_000;

export class FindingSpectrum {
  /** Null where none is drawn. */
  readonly root: HTMLElement | null;
  readonly #api: Api;
  readonly #model: Model;
  readonly #chart: Chart | null;
  readonly #caption = h("p", { class: "hint" }, "Reading the spectrum …");
  readonly #tell: (amplitudes: readonly string[]) => void;
  readonly #loads: Refresh;
  #of: Drawn | null = null;
  #hasFailed = false;

  /**
   * @param theme null: only the amplitudes
   * @param tell the amplitude of each line of the evidence
   */
  constructor(
    api: Api,
    model: Model,
    theme: Theme | null,
    tell: (amplitudes: readonly string[]) => void,
  ) {
    this.#api = api;
    this.#model = model;
    this.#tell = tell;
    this.#chart =
      theme === null ? null : new Chart(theme, () => (innerWidth < 700 ? 220 : 260), null);
    this.root =
      this.#chart &&
      h(
        "div",
        { class: "finding-spectrum" },
        h(
          "div",
          { class: "chart-head" },
          this.#caption,
          chartTools(this.#chart, "spectrum of the finding"),
        ),
        this.#chart.root,
      );
    this.#loads = new Refresh(
      async (asking) => {
        const draw = await this.#load(asking);
        this.#hasFailed = false;
        return draw;
      },
      (error) => {
        this.#hasFailed = true;
        setText(this.#caption, `The spectrum could not be read: ${messageOf(error)}`);
      },
      { ms: RETRY_MS, isDue: () => this.#hasFailed && model.isLive && !document.hidden },
    );
  }

  readonly stop: Cleanup = () => {
    this.#loads.stop();
    this.#chart?.destroy();
  };

  /** That of its newest measurement; the plot stays as somebody has zoomed it. */
  show(finding: FindingView, machine: Machine | null): void {
    const isDrawn = this.#of?.finding.readingId === finding.readingId;
    this.#of = { finding, machine };
    if (!isDrawn) this.#loads.choose();
  }

  async #load(asking: Asking): Promise<() => void> {
    const of = this.#of;
    if (of === null) return () => {};
    const { finding } = of;
    const { evidence } = finding;
    const atMs = Date.parse(finding.lastSeen);
    const around = await this.#api.measurement(finding.sensor, finding.readingId, atMs, asking);
    const channels = around?.measurement?.channels ?? [];
    const files = new Map(channels.map(({ channel, fileId }) => [channel, fileId]));
    const asked = new Map<string, Promise<SpectrumSeries>>();
    const spectra = await Promise.all(
      evidence.map(async (one, i) => {
        const fileId = files.get(one.channel);
        // The first is drawn, too; what is in per cent no plot shows in its unit.
        if (fileId === undefined || (one.unit === "%" && i > 0)) return null;
        const key = `${fileId} ${unitOf(one)}`;
        const answer = asked.get(key) ?? this.#api.spectrum(fileId, unitOf(one), asking);
        asked.set(key, answer);
        return answer;
      }),
    );
    return () => {
      this.#tell(evidence.map((one, i) => amplitudeWords(one, spectra[i] ?? null)));
      this.#draw(of, spectra[0] ?? null);
    };
  }

  #draw({ finding, machine }: Drawn, spectrum: SpectrumSeries | null): void {
    const [line] = finding.evidence;
    if (this.#chart === null || line === undefined) return;
    this.#chart.root.hidden = spectrum === null;
    if (spectrum === null)
      return void setText(this.#caption, "The measurement of this finding is not stored any more.");
    const speedHz = finding.speedRpm / 60;
    const key = markersOf(finding, machine) ?? "orders";
    const set = markerSets(machine, finding.point).find((one) => one.key === key);
    const orders = Math.max(...finding.evidence.map(({ order }) => order));
    const spec = spectrumSpec(spectrum, {
      frequencyIn: unitsKept().frequency,
      speedHz,
      isLog: false,
      orders: orders * MARGIN,
      markers: set?.lines(speedHz) ?? [],
      cursor: "single",
      heldHz: line.hz,
      other: null,
    });
    const lines = finding.evidence.map(({ name }) => name).join(", ");
    this.#chart.show({ ...spec, summary: `Evidence of the finding: ${lines}. ${spec.summary}` });
    setText(
      this.#caption,
      `${line.spectrum === "velocity" ? "Velocity" : "Envelope"} spectrum, axis ${line.axis}, ${this.#model.times.full(spectrum.timeMs)}, ${number(finding.speedRpm, "rpm")} rpm`,
    );
  }
}

interface Drawn {
  readonly finding: FindingView;
  readonly machine: Machine | null;
}

/** What the spectrum draws; where there is none, the tone between its lines. */
function amplitudeWords(line: EvidenceLine, spectrum: SpectrumSeries | null): string {
  const { hz, amplitude, unit } = line;
  const drawn = spectrum && unit !== "%" ? drawnLine(spectrum.values, spectrum.step, hz) : null;
  return `${quantity(drawn?.amplitude ?? amplitude * Math.SQRT2, unit)} peak`;
}

/** Lines of the whitened envelope stand at the same frequencies in the envelope. */
function unitOf({ spectrum }: EvidenceLine): number {
  if (spectrum !== "velocity") return ENVELOPE_UNIT;
  return SIGNAL_UNITS.indexOf(unitsKept().velocity);
}

/** The spectra of the stored measurements one behind the other, so that growing or moving lines are visible. */
import type { Api, ApiSpectrum, Measurement } from "./api.ts";
import { save } from "./chart-export.ts";
import { h, setText } from "./dom.ts";
import { niceStep, number } from "./format.ts";
import type { Model } from "./model.ts";
import { frequency } from "./signal-specs.ts";
import { colour, type Theme } from "./theme.ts";

/** More rows would hide one another, and each is a request to the agent. */
const ROWS_MAX = 24;
const LEFT = 8;
const RIGHT = 128;
const BOTTOM = 34;
/** Share of the height that the largest line may take above its own baseline. */
const LIFT = 0.3;

interface Row {
  readonly timeMs: number;
  readonly reading: string;
  readonly fileId: number;
  readonly unit: number;
  readonly spectrum: ApiSpectrum;
}

export interface WaterfallView {
  readonly unit: number;
  readonly channel: number;
  /** Highest displayed frequency, Hz; null shows all. */
  readonly endHz: number | null;
  readonly isCpm: boolean;
  /** The reading shown beside it: its row is the selected one. */
  readonly selected: string;
}

export class Waterfall {
  readonly root: HTMLElement;
  readonly #api: Api;
  readonly #model: Model;
  readonly #open: (reading: string) => void;
  readonly #canvas: HTMLCanvasElement;
  readonly #note = h("p", { class: "readout", role: "status" });
  readonly #stopTheme: () => void;
  readonly #observer: ResizeObserver;
  #rows: readonly Row[] = [];
  #view: WaterfallView = {
    unit: 0,
    channel: 1,
    endHz: null,
    isCpm: false,
    selected: "",
  };
  #chosen = 0;
  #loading = new AbortController();

  /** `open` shows one measurement by its reading. */
  constructor(api: Api, model: Model, theme: Theme, open: (reading: string) => void) {
    this.#api = api;
    this.#model = model;
    this.#open = open;
    this.#canvas = h("canvas", {
      tabindex: 0,
      role: "img",
      class: "waterfall",
      keydown: (event: KeyboardEvent) => this.#onKey(event),
      click: (event: MouseEvent) => this.#onClick(event),
    });
    const button = (text: string, label: string, act: () => void) =>
      h("button", { type: "button", "aria-label": `${label}, waterfall`, click: act }, text);
    this.root = h(
      "div",
      { class: "chart", hidden: true },
      h(
        "div",
        { class: "chart-head" },
        h("h3", null, "Waterfall"),
        h(
          "div",
          { class: "tools", role: "group", "aria-label": "View of waterfall" },
          button("CSV", "Save the numbers as CSV", () => this.#saveCsv()),
          button("PNG", "Save the picture as PNG", () => this.#savePng()),
        ),
      ),
      this.#canvas,
      this.#note,
    );
    this.#stopTheme = theme.onChange(() => this.#draw());
    this.#observer = new ResizeObserver(() => this.#draw());
    this.#observer.observe(this.root);
  }

  stop(): void {
    this.#loading.abort();
    this.#stopTheme();
    this.#observer.disconnect();
  }

  hide(): void {
    this.#loading.abort();
    this.root.hidden = true;
  }

  /** One request after the other, and none for a row that is there: the agent has other work. */
  async show(measurements: readonly Measurement[], view: WaterfallView): Promise<void> {
    this.#loading.abort();
    this.#loading = new AbortController();
    const { signal } = this.#loading;
    this.root.hidden = false;
    this.#view = view;
    const rows: Row[] = [];
    const wanted = measurements.slice(0, ROWS_MAX);
    try {
      for (const { timeMs, reading, channels } of wanted) {
        const file = channels.find(({ channel }) => channel === view.channel);
        if (file === undefined) continue;
        const { fileId } = file;
        const { unit } = view;
        const known = this.#rows.find((row) => row.fileId === fileId && row.unit === unit);
        const spectrum = known?.spectrum ?? (await this.#api.spectrum(fileId, unit, signal));
        rows.push({ timeMs, reading, fileId, unit, spectrum });
        setText(this.#note, `${rows.length} of ${wanted.length} measurements read`);
      }
    } catch (error) {
      if (signal.aborted) return;
      setText(this.#note, `A measurement could not be read: ${(error as Error).message}`);
    }
    this.#rows = rows;
    this.#chosen = Math.max(
      0,
      rows.findIndex(({ reading }) => reading === view.selected),
    );
    this.#draw();
    this.#announce();
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key === "ArrowUp") this.#choose(this.#chosen + 1);
    else if (event.key === "ArrowDown") this.#choose(this.#chosen - 1);
    else if (event.key === "Enter") this.#openChosen();
    else return;
    event.preventDefault();
  }

  #onClick({ offsetY }: MouseEvent): void {
    const { feet } = this.#layout();
    const nearest = feet.map((foot) => Math.abs(foot - offsetY));
    const row = nearest.indexOf(Math.min(...nearest));
    if (row === this.#chosen) this.#openChosen();
    else this.#choose(row);
  }

  #openChosen(): void {
    const row = this.#rows[this.#chosen];
    if (row !== undefined) this.#open(row.reading);
  }

  #choose(row: number): void {
    this.#chosen = Math.max(0, Math.min(this.#rows.length - 1, row));
    this.#draw();
    this.#announce();
  }

  #announce(): void {
    const row = this.#rows[this.#chosen];
    const help = "Arrow keys select a spectrum, Enter opens it.";
    this.#canvas.setAttribute(
      "aria-label",
      `Waterfall of ${this.#rows.length} spectra, newest in front. ${help}`,
    );
    if (row === undefined) return void setText(this.#note, "No data.");
    const { isCpm } = this.#view;
    const [peak] = [...row.spectrum.peaks].sort((a, b) => b.amplitude - a.amplitude);
    const top =
      peak === undefined
        ? ""
        : `: highest ${number(peak.amplitude)} ${row.spectrum.label} at ${frequency(peak.frequencyHz, isCpm)} ${isCpm ? "CPM" : "Hz"}`;
    setText(this.#note, `${this.#model.times.full(row.timeMs)}${top}. ${help}`);
  }

  #layout(): { width: number; height: number; feet: number[]; lift: number } {
    const width = Math.max(200, this.root.clientWidth);
    const height = Math.min(520, 200 + 14 * this.#rows.length);
    const space = height - BOTTOM;
    const lift = space * LIFT;
    const step = (space - lift) / Math.max(1, this.#rows.length - 1);
    return { width, height, lift, feet: this.#rows.map((_, i) => space - i * step) };
  }

  #draw(): void {
    if (this.root.hidden || this.#rows.length === 0) return;
    const { width, height, feet, lift } = this.#layout();
    const ratio = devicePixelRatio;
    const canvas = this.#canvas;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const ctx = canvas.getContext("2d");
    if (ctx === null) return;
    ctx.scale(ratio, ratio);
    const ends = this.#rows.map(({ spectrum: { step, values } }) => step * values.length);
    const endHz = Math.min(this.#view.endHz ?? Number.POSITIVE_INFINITY, Math.max(...ends));
    const inner = width - LEFT - RIGHT;
    const top = Math.max(...this.#rows.map((row) => highest(row.spectrum, endHz))) || 1;
    ctx.font = "12px system-ui, sans-serif";
    for (let i = this.#rows.length - 1; i >= 0; i--) {
      const row = this.#rows[i];
      const foot = feet[i] ?? 0;
      if (row === undefined) continue;
      const { step, values } = row.spectrum;
      const isChosen = i === this.#chosen;
      ctx.beginPath();
      ctx.moveTo(LEFT, foot);
      const count = Math.min(values.length, Math.floor(endHz / step) + 1);
      for (let k = 0; k < count; k++) {
        const x = LEFT + ((k * step) / endHz) * inner;
        ctx.lineTo(x, foot - ((values[k] ?? 0) / top) * lift);
      }
      ctx.lineTo(LEFT + inner, foot);
      // Lines in front hide those behind.
      ctx.fillStyle = colour("card");
      ctx.fill();
      ctx.lineWidth = isChosen ? 2 : 1;
      ctx.strokeStyle = colour(isChosen ? "series-2" : "series-1");
      ctx.stroke();
      const isNamed = isChosen || i % Math.ceil(16 / Math.max(4, step12(feet))) === 0;
      if (!isNamed) continue;
      ctx.fillStyle = colour(isChosen ? "series-2" : "muted");
      const time = this.#model.times.short(row.timeMs, this.#model.gatewayNowMs());
      ctx.fillText(time, LEFT + inner + 6, foot + 3, RIGHT - 8);
    }
    this.#axis(ctx, endHz, inner, height);
  }

  #axis(ctx: CanvasRenderingContext2D, endHz: number, inner: number, height: number): void {
    const { isCpm } = this.#view;
    const scale = isCpm ? 60 : 1;
    const step = niceStep((endHz * scale) / Math.max(3, inner / 110));
    ctx.fillStyle = colour("muted");
    ctx.textAlign = "center";
    for (let at = 0; at <= endHz * scale; at += step) {
      const x = LEFT + (at / (endHz * scale)) * inner;
      ctx.fillRect(x, height - BOTTOM, 1, 5);
      ctx.fillText(String(Number(at.toPrecision(6))), Math.max(x, 12), height - BOTTOM + 17);
    }
    ctx.textAlign = "left";
    ctx.fillText(isCpm ? "CPM" : "Hz", LEFT + inner + 6, height - BOTTOM + 17);
  }

  #saveCsv(): void {
    const unit = this.#rows[0]?.spectrum.label ?? "";
    const lines = [`Time (UTC),Frequency (Hz),"Amplitude (${unit} peak)"\r\n`];
    for (const { timeMs, spectrum } of this.#rows) {
      const time = new Date(timeMs).toISOString();
      for (const [k, value] of spectrum.values.entries())
        lines.push(`${time},${k * spectrum.step},${value}\r\n`);
    }
    save(new Blob(lines, { type: "text/csv" }), "waterfall.csv");
  }

  #savePng(): void {
    const canvas = document.createElement("canvas");
    canvas.width = this.#canvas.width;
    canvas.height = this.#canvas.height;
    const ctx = canvas.getContext("2d");
    if (ctx === null) return;
    ctx.fillStyle = colour("card");
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.drawImage(this.#canvas, 0, 0);
    canvas.toBlob((blob) => {
      if (blob !== null) save(blob, "waterfall.png");
    });
  }
}

/** Pixels between two rows. */
function step12(feet: readonly number[]): number {
  return (feet[0] ?? 0) - (feet[1] ?? 0) || 16;
}

function highest({ step, values }: ApiSpectrum, endHz: number): number {
  let most = 0;
  for (let k = 0; k < values.length && k * step <= endHz; k++)
    most = Math.max(most, values[k] ?? 0);
  return most;
}

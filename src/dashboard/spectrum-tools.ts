/** Tools of the spectrum: signal or envelope, markers of machine parts, cursors. */
import type { ShownSensor } from "../core/query/shown.ts";
import type { Api } from "./api.ts";
import { type Cleanup, h, keptOptions } from "./dom.ts";
import type { Model } from "./model.ts";
import { placeNow, remember } from "./place.ts";
import { Refresh } from "./refresh.ts";
import { CURSORS, type CursorKind } from "./spectrum-cursor.ts";
import { allLines, type MarkerLine, type MarkerSet, markerSets } from "./spectrum-markers.ts";

/** The number of the unit GE: its spectrum is that of the envelope. */
export const ENVELOPE_UNIT = 6;

interface SpectrumOf {
  readonly api: Api;
  readonly model: Model;
  readonly sensor: ShownSensor;
}

export class SpectrumTools {
  readonly controls: readonly HTMLElement[];
  readonly stop: Cleanup;
  readonly #of: HTMLSelectElement;
  readonly #markers: HTMLSelectElement;
  readonly #offer: ReturnType<typeof keptOptions>;
  readonly #cursor: HTMLSelectElement;
  readonly #point: number | null;
  #sets: readonly MarkerSet[];
  #wanted: string | null;

  /** `load` requests again, `redraw` shows the current data. */
  constructor({ api, model, sensor }: SpectrumOf, load: () => void, redraw: () => void) {
    this.#point = sensor.location?.point ?? null;
    const { query } = placeNow();
    this.#wanted = query.get("markers");
    this.#sets = markerSets(null, this.#point);
    const kept =
      (name: string, then: () => void) =>
      ({ target }: Event) => {
        if (!(target instanceof HTMLSelectElement)) return;
        const { value, selectedIndex } = target;
        remember({ [name]: selectedIndex === 0 ? null : value });
        then();
      };
    this.#of = h(
      "select",
      { id: "signal-of", change: kept("spectrum", load) },
      h("option", { value: "signal" }, "signal"),
      h("option", { value: "envelope" }, "envelope (gE)"),
    );
    if (query.get("spectrum") === "envelope") this.#of.value = "envelope";
    this.#markers = h("select", { id: "signal-markers", change: kept("markers", redraw) });
    this.#offer = keptOptions(this.#markers);
    this.#cursor = h(
      "select",
      { id: "signal-cursor", change: kept("cursor", redraw) },
      ...CURSORS.map(([value, text]) => h("option", { value }, text)),
    );
    const cursor = CURSORS.find(([value]) => value === query.get("cursor"));
    if (cursor !== undefined) this.#cursor.value = cursor[0];
    this.controls = [
      labelled("Spectrum of", this.#of),
      labelled("Markers", this.#markers, "field longest"),
      labelled("Cursor", this.#cursor),
    ];
    this.#offerMarkers();
    const { location } = sensor;
    // Orders can be marked without it.
    const machines = new Refresh(
      async (asking) => {
        const machine = (await api.machines(asking)).find((one) => one.id === location?.machine);
        return () => {
          this.#sets = markerSets(machine ?? null, this.#point);
          this.#offerMarkers();
          redraw();
        };
      },
      () => {},
    );
    // With the list of sensors, so may be what the site file says about the machine.
    const unsubscribe = model.subscribe((change) => {
      if (change === "sensors" && location !== null) machines.change();
    });
    if (location !== null) machines.change();
    this.stop = () => {
      unsubscribe();
      machines.stop();
    };
  }

  get isEnvelope(): boolean {
    return this.#of.value === "envelope";
  }
  get cursor(): CursorKind {
    return CURSORS.find(([value]) => value === this.#cursor.value)?.[0] ?? "single";
  }
  markers(speedHz: number | null): readonly MarkerLine[] {
    return this.#sets.find(({ key }) => key === this.#markers.value)?.lines(speedHz) ?? [];
  }

  /** Of all parts of the machine, whichever markers are drawn. */
  allLines(speedHz: number | null): readonly MarkerLine[] {
    return allLines(this.#sets, speedHz);
  }

  #offerMarkers(): void {
    const kept = this.#wanted ?? this.#markers.value;
    this.#offer([
      ...this.#sets.map(({ key, label }) => [key, label] as const),
      ["none", "none"] as const,
    ]);
    if ([...this.#markers.options].some(({ value }) => value === kept)) {
      this.#markers.value = kept;
      this.#wanted = null;
    }
  }
}

export function labelled(label: string, control: HTMLElement, style = "field"): HTMLElement {
  return h("div", { class: style }, h("label", { for: control.id }, label), control);
}

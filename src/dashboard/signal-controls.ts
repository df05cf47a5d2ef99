/** The choices of how a measurement is drawn: axis, unit, frequency, width, amplitude, speed. A link may name some. */
import type { ShownSensor } from "../core/query/shown.ts";
import { READ_UNITS, type ReadUnits, signalUnitAsRead } from "../core/read-units.ts";
import { SIGNAL_UNITS } from "../core/unit.ts";
import { h } from "./dom.ts";
import { unitSign } from "./format.ts";
import { labelled } from "./spectrum-tools.ts";
import { unitsKept } from "./units-kept.ts";

const VELOCITY = 2;
const SPEED_RPM_MAX = 200_000;
/** Choices for the width of the spectrum: where most machine faults are visible. */
const ORDERS = [5, 12, 50];

interface Changes {
  /** Other data is wanted. */
  changed(): void;
  /** The same data is drawn otherwise. */
  redraw(): void;
  frequencyChanged(): void;
  widthChanged(): void;
}

export class SignalControls {
  /** Beside the measurement. */
  readonly row: readonly HTMLElement[];
  readonly display: readonly HTMLElement[];
  readonly axis: HTMLSelectElement;
  readonly #unit: HTMLSelectElement;
  /** What no link needs to name. */
  readonly #usualUnit: number;
  readonly #frequency: HTMLSelectElement;
  readonly #scale: HTMLSelectElement;
  readonly #orders: HTMLSelectElement;
  readonly #speed: HTMLInputElement;
  /** Typed by a person: no measured speed replaces it. */
  #isSpeedTyped = false;

  constructor(sensor: ShownSensor, query: URLSearchParams, changes: Changes) {
    this.axis = h("select", { id: "signal-axis", change: () => changes.changed() });
    this.#unit = h(
      "select",
      { id: "signal-unit", change: () => changes.changed() },
      ...SIGNAL_UNITS.map((unit, i) => h("option", { value: i }, unitSign(signalUnitAsRead(unit)))),
    );
    const unit = query.get("unit");
    const unitAt = SIGNAL_UNITS.findIndex((name) => name === unit);
    const { velocity, frequency } = unitsKept();
    this.#usualUnit = velocity === "in/s" ? SIGNAL_UNITS.indexOf("in/s") : VELOCITY;
    this.#unit.value = String(unitAt >= 0 ? unitAt : this.#usualUnit);
    this.#frequency = choice("signal-frequency", READ_UNITS.frequency, changes.frequencyChanged);
    this.#frequency.value = frequency;
    this.#scale = choice("signal-scale", ["linear", "logarithmic"], changes.redraw);
    this.#orders = h(
      "select",
      { id: "signal-orders", change: () => changes.widthChanged() },
      ...ORDERS.map((orders) => h("option", { value: orders }, `${orders}x speed`)),
      h("option", { value: "" }, "all lines"),
    );
    this.#orders.value = sensor.speedRpm === null || query.has("hz") ? "" : String(ORDERS[1]);
    this.#speed = h("input", {
      id: "signal-speed",
      type: "number",
      min: 0,
      max: SPEED_RPM_MAX,
      step: "any",
      inputmode: "decimal",
      value: sensor.speedRpm ?? "",
      input: () => {
        this.#isSpeedTyped = this.#speed.value !== "";
        changes.redraw();
      },
    });
    const rpm = Number(query.get("rpm"));
    if (rpm > 0 && rpm <= SPEED_RPM_MAX) {
      this.#speed.value = String(rpm);
      this.#isSpeedTyped = true;
    }
    this.row = [labelled("Axis", this.axis, "field axis"), labelled("Unit", this.#unit)];
    this.display = [
      labelled("Frequency in", this.#frequency),
      labelled("Spectrum up to", this.#orders, "field orders"),
      labelled("Amplitude", this.#scale),
      labelled("Speed (rpm)", this.#speed),
    ];
  }

  get channel(): number {
    return Number(this.axis.value);
  }
  /** Its place among the units of signals. */
  get unit(): number {
    return Number(this.#unit.value);
  }
  get frequencyIn(): ReadUnits["frequency"] {
    return READ_UNITS.frequency.find((unit) => unit === this.#frequency.value) ?? "Hz";
  }
  get isLog(): boolean {
    return this.#scale.value === "logarithmic";
  }
  /** Highest drawn multiple of the speed; null: all lines. */
  get orders(): number | null {
    return this.#orders.value === "" ? null : Number(this.#orders.value);
  }
  /** Null while unknown. */
  get speedHz(): number | null {
    const rpm = Number(this.#speed.value);
    return Number.isFinite(rpm) && rpm > 0 ? rpm / 60 : null;
  }

  /** For the link; null where it is the usual. */
  get linked(): { readonly axis: string | null; readonly unit: string | null } {
    return {
      axis: this.axis.selectedIndex <= 0 ? null : this.axis.value,
      unit: this.unit === this.#usualUnit ? null : (SIGNAL_UNITS[this.unit] ?? null),
    };
  }

  /** The measured speed of a measurement. */
  takeSpeed(rpm: number | null): void {
    if (!this.#isSpeedTyped && rpm !== null && rpm > 0)
      this.#speed.value = String(Math.round(rpm * 10) / 10);
  }
}

function choice(id: string, names: readonly string[], change: () => void): HTMLSelectElement {
  return h("select", { id, change }, ...names.map((name) => h("option", { value: name }, name)));
}

import type { ApiSpectrum } from "./api.ts";
import { h } from "./dom.ts";
import { number } from "./format.ts";
import { frequency } from "./signal-specs.ts";

/** A peak this close to a whole multiple of the speed is called by it. */
const ORDER_TOLERANCE = 0.03;
const ORDER_MAX = 20;

/** The largest peaks; their frequency is interpolated between the lines. */
export function peakTable(
  { peaks, label }: ApiSpectrum,
  isCpm: boolean,
  speedHz: number | null,
): HTMLElement {
  if (peaks.length === 0) return h("p", { class: "hint" }, "The spectrum has no peaks.");
  const unit = isCpm ? "CPM" : "Hz";
  const heads = ["Peak", `Frequency (${unit})`, "Multiple of speed", `Amplitude (${label} peak)`];
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": "Largest peaks" },
    h(
      "table",
      { class: "plain peaks" },
      h("thead", null, h("tr", null, ...heads.map((text) => h("th", { scope: "col" }, text)))),
      h(
        "tbody",
        null,
        ...peaks.map(({ frequencyHz, amplitude }, i) =>
          h(
            "tr",
            null,
            h("th", { scope: "row" }, `${i + 1}`),
            h("td", null, frequency(frequencyHz, isCpm)),
            h("td", null, orderWords(frequencyHz, speedHz)),
            h("td", null, number(amplitude)),
          ),
        ),
      ),
    ),
  );
}

function orderWords(hz: number, speedHz: number | null): string {
  if (speedHz === null) return "–";
  const order = hz / speedHz;
  const whole = Math.round(order);
  const isWhole = whole >= 1 && whole <= ORDER_MAX && Math.abs(order - whole) <= ORDER_TOLERANCE;
  return `${order.toFixed(2)}x${isWhole ? ` (harmonic ${whole})` : ""}`;
}

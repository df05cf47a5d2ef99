import { type Child, h } from "./dom.ts";
import { DASH, number, unitSign } from "./format.ts";
import type { ShownValue } from "./headline.ts";
import { doubtMark, zoneBadge } from "./marks.ts";

/** One value with its unit and, if it is not good, the sign and text of its quality. Full precision on hover. */
export function valueNode(shown: ShownValue, withLabel: boolean, withUnit = true): HTMLElement {
  const { value, unit, doubt, name, kind, label } = shown;
  return h(
    "span",
    {
      class: doubt === null ? "value" : `value ${doubt.quality}`,
      "data-value": `${kind}/${name}`,
      "data-raw": value === null ? "" : String(value),
      title: typeof value === "number" ? `${value} ${unitSign(unit)}`.trim() : null,
    },
    withLabel && label !== "" && h("span", { class: "value-label" }, `${label} `),
    ...text(shown, withUnit),
    doubt !== null && doubtMark(doubt, kind),
  );
}

function text({ value, unit, name }: ShownValue, withUnit: boolean): Child[] {
  if (value === null) return [h("span", { class: "figure" }, DASH)];
  if (typeof value === "boolean") {
    return [h("span", { class: `figure contact ${value ? "on" : "idle"}` }, value ? "yes" : "no")];
  }
  if (typeof value === "string") {
    return [name.endsWith("_zone") ? zoneBadge(value) : h("span", { class: "figure" }, value)];
  }
  const sign = unitSign(unit);
  return [
    h("span", { class: "figure" }, number(value, unit)),
    withUnit && sign !== "" && h("span", { class: "unit" }, `\u00a0${sign}`),
  ];
}

/** What is not good about a reading, in as few sentences as possible. */
import type { ShownReading, ShownSensor } from "../core/query/shown.ts";
import { valuesOf } from "./headline.ts";
import { doubtWords, valueWords } from "./words.ts";

/** Quantities that the channel's own name already implies. */
const IMPLIED = new Set(["value", "state", "current", "accumulated"]);

/**
 * One line per reason. A dead sensor has dozens of bad values for one reason: channels whose values all share it are
 * named without quantities, and other values are grouped by quantity.
 */
export function doubtLines(sensor: ShownSensor, reading: ShownReading): string[] {
  const values = valuesOf(sensor, reading).map(({ name, label, doubt }) => {
    const { quantity, quantityLabel } = valueWords(sensor, reading.kind, name);
    const text = IMPLIED.has(quantity) && label !== "" ? "" : lowerFirst(quantityLabel);
    return { label, text, words: doubt === null ? "" : doubtWords(doubt, reading.kind) };
  });
  const reasons = new Set(values.map(({ words }) => words).filter((words) => words !== ""));
  return [...reasons].map((reason) => {
    const quantitiesOf = new Map<string, string[]>();
    for (const { label, text, words } of values) {
      if (words !== reason) continue;
      quantitiesOf.set(label, [...(quantitiesOf.get(label) ?? []), text]);
    }
    const channelsOf = new Map<string, string[]>();
    for (const [label, texts] of quantitiesOf) {
      const isWhole =
        label !== "" && values.every((value) => value.label !== label || value.words === reason);
      const quantities = isWhole ? "" : texts.filter((text) => text !== "").join(", ");
      channelsOf.set(quantities, [...(channelsOf.get(quantities) ?? []), label]);
    }
    const subjects = [...channelsOf].map(([quantities, labels]) =>
      [labels.join(", "), quantities].filter((part) => part !== "").join(": "),
    );
    return `${subjects.join("; ")} – ${reason}`;
  });
}

/** Abbreviations such as RMS keep their capitals. */
function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

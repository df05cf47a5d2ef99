import type { ShownMeasurement } from "../core/query/shown.ts";
import { h, replace } from "./dom.ts";
import { AXIS_WORDS } from "./words.ts";

type ShownChannel = ShownMeasurement["channels"][number];

/** Offers the axes of a measurement; the one chosen, or wanted by the link, stays where it exists. Returns it. */
export function offerAxes(
  select: HTMLSelectElement,
  { channels }: ShownMeasurement,
  wanted: string | null,
): ShownChannel | undefined {
  const kept = wanted ?? select.value;
  const key = channels.map(({ channel, axis }) => `${channel}${axis}`).join();
  if (select.dataset["key"] !== key) {
    select.dataset["key"] = key;
    replace(
      select,
      ...channels.map(({ channel, axis }) =>
        h("option", { value: channel }, `${axis} – ${AXIS_WORDS[axis] ?? axis}`),
      ),
    );
    if (channels.some(({ channel }) => String(channel) === kept)) select.value = kept;
  }
  return channels.find(({ channel }) => String(channel) === select.value);
}

/** Says that the measurement of a link is not stored any more, and offers those beside it. */
import type { MeasurementAround, ShownMeasurement } from "../core/query/shown.ts";
import { h, replace } from "./dom.ts";
import type { ZoneTimes } from "./format.ts";

interface GoneMeasurement {
  readonly around: MeasurementAround | null;
  /** Its time; null where the link did not say it. */
  readonly atMs: number | null;
  /** The newest stretch, newest first. */
  readonly items: readonly ShownMeasurement[];
  readonly times: ZoneTimes;
  choose(one: ShownMeasurement): void;
}

export function showGone(
  place: HTMLElement,
  { around, atMs, items, times, choose }: GoneMeasurement,
): void {
  const since = around?.since ?? items.at(-1)?.time ?? null;
  const offer = (one: ShownMeasurement | null, words: string) =>
    one !== null &&
    h(
      "button",
      { type: "button", click: () => choose(one) },
      `${words}: ${times.full(one.timeMs)}`,
    );
  replace(
    place,
    h(
      "p",
      null,
      atMs === null
        ? "There is no measurement at that time."
        : `The measurement of ${times.full(atMs)} is not stored any more.`,
      since === null
        ? " None is stored of this sensor."
        : ` The oldest stored one is of ${times.full(Date.parse(since))}; after WAVEFORM_DAYS one of each day stays, later of each week and month.`,
    ),
    h(
      "div",
      { class: "tools" },
      offer(around?.older ?? null, "The one before"),
      offer(around?.newer ?? items[0] ?? null, around?.newer ? "The one after" : "The newest"),
    ),
  );
  place.hidden = false;
}

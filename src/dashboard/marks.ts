/** Signs used everywhere: a state or zone is always a shape and a word, never a colour alone. */
import type { Doubt } from "../core/quality.ts";
import type { ShownSensor } from "../core/query/shown.ts";
import type { Kind } from "../core/sensor.ts";
import { withTimes } from "../core/text/times-in-text.ts";
import { DAY_MS } from "../core/time-units.ts";
import { h, hidden, s, setAttribute, setText } from "./dom.ts";
import { utc } from "./format.ts";
import { isLive } from "./machine-now.ts";
import type { Model } from "./model.ts";
import { doubtWords, STATE_WORDS, ZONE_WORDS } from "./words.ts";

export type BadgeTone = "ok" | "warn" | "bad" | "off";

const SHAPES: Readonly<Record<BadgeTone, string>> = {
  ok: "M3 8.5l3.2 3.2L13 5",
  warn: "M8 3.2v6M8 12.4v.4",
  bad: "M4 4l8 8M12 4l-8 8",
  off: "M4 8h8",
};

export function toneIcon(tone: BadgeTone): SVGElement {
  return s(
    "svg",
    { class: `icon ${tone}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
    s("path", { d: SHAPES[tone] }),
  );
}

export function badge(tone: BadgeTone, text: string): HTMLElement {
  return h("span", { class: `badge ${tone}` }, toneIcon(tone), h("span", null, text));
}

/** `isRead` is false for a sensor that is disabled in the site file. */
export function stateBadge(state: keyof typeof STATE_WORDS, isRead = true): HTMLElement {
  if (!isRead && state !== "removed") return badge("off", "Not read");
  const tone = ({ online: "ok", silent: "bad", unknown: "off", removed: "off" } as const)[state];
  return badge(tone, STATE_WORDS[state]);
}

/** @param notLive since when it is none of now, in words; such a letter has no colour */
export function zoneBadge(zone: string | null, notLive = ""): HTMLElement {
  if (zone === null) return h("span", { class: "none" }, "–", hidden("no zone"));
  const words = [ZONE_WORDS[zone] ?? "", ...(notLive === "" ? [] : [notLive])].join(", ");
  return h(
    "span",
    {
      class: notLive === "" ? `zone zone-${zone}` : `zone zone-${zone} not-live`,
      title: `Zone ${zone}: ${words}`,
    },
    hidden("Zone "),
    zone,
    hidden(`, ${words}`),
  );
}

/** The sign after a value that is not good; its text is in the title and for screen readers. */
export function doubtMark(doubt: Doubt, kind: Kind): HTMLElement {
  const words = doubtWords(doubt, kind);
  return h(
    "span",
    { class: `doubt ${doubt.quality}`, title: words },
    doubt.quality === "bad" ? "✕" : "?",
    hidden(words),
  );
}

/** `day`: without the time of day where it was days ago. */
const FORMS = ["short", "full", "day"] as const;
export type TimeForm = (typeof FORMS)[number];

/** A time in the gateway's zone, UTC on hover. Until that zone is known it is "…"; `rewriteTimes` then writes it. */
export function timeNode(model: Model, ms: number, form: TimeForm = "short"): HTMLElement {
  const node = h("time", { "data-form": form });
  writeTime(node, model, ms, form);
  return node;
}
export function writeTime(
  node: HTMLTimeElement | HTMLElement,
  model: Model,
  ms: number,
  form: TimeForm = "short",
): void {
  setText(node, timeText(model, ms, form));
  // Another time may have the same text: before the zone is known all have.
  setAttribute(node, "datetime", new Date(ms).toISOString());
  setAttribute(node, "title", utc(ms));
}

export function timeText(model: Model, ms: number, form: TimeForm = "short"): string {
  if (!model.isZoneKnown) return "…";
  if (form === "full") return model.times.full(ms);
  const nowMs = model.gatewayNowMs();
  const text = model.times.short(ms, nowMs);
  return form === "day" && nowMs - ms > 2 * DAY_MS ? text.replace(/ \d\d:\d\d$/, "") : text;
}

/** "not live since 24 Nov 2026, 10:12"; empty while the sensor is live, and where nothing was ever read. */
export function notLiveWords(model: Model, sensor: ShownSensor): string {
  const { lastReadingMs } = sensor;
  if (isLive(model, sensor) || lastReadingMs === null) return "";
  return `not live since ${timeText(model, lastReadingMs)}`;
}

/** A sentence of the agent with times in it, such as an alarm's. */
export function timedText(model: Model, text: string): HTMLElement {
  return h("span", { "data-timed": text }, timed(model, text));
}
function timed(model: Model, text: string): string {
  return withTimes(text, (ms) => timeText(model, ms, "full"));
}

/** The zone became known or is another one, or a day has passed: what was of today is of yesterday. */
export function rewriteTimes(model: Model): void {
  for (const node of document.querySelectorAll<HTMLTimeElement>("time[data-form]")) {
    const form = FORMS.find((one) => one === node.dataset["form"]) ?? "short";
    writeTime(node, model, Date.parse(node.dateTime), form);
  }
  for (const node of document.querySelectorAll<HTMLElement>("[data-timed]"))
    setText(node, timed(model, node.dataset["timed"] ?? ""));
}

export function batteryNode(volts: number | null, lowV: number | null): HTMLElement {
  if (volts === null) return h("span", { class: "none" }, "–", hidden("no battery value"));
  const isLow = lowV !== null && volts < lowV;
  return h(
    "span",
    { class: isLow ? "battery low" : "battery" },
    isLow && toneIcon("bad"),
    isLow && " ",
    `${volts.toFixed(2)}\u00a0V`,
    isLow && h("span", null, " low"),
  );
}

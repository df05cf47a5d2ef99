/** What stands behind a machine's state, and where what is unknown is mended. */
import type { RankedMachine } from "../features/condition/rules/shown.ts";
import { SITE_FILE_CHAPTER } from "./chapter.ts";
import { h, replaceAnew } from "./dom.ts";
import { number, ZoneTimes } from "./format.ts";
import { findingOf } from "./machine-words.ts";
import { timedText, timeNode } from "./marks.ts";
import type { Model } from "./model.ts";
import { linkTo } from "./place-link.ts";

/**
 * Alarms, what changed, zone, speed, marks.
 * @param isBesideFindings those stand beside it, and are not told twice
 * @param notLiveSinceMs nothing of it is live since then
 */
export function showFacts(
  facts: HTMLElement,
  model: Model,
  machine: RankedMachine,
  isBesideFindings: boolean,
  notLiveSinceMs: number | null,
): void {
  const { reason, changed, zone, zoneSince, speedRpm, running, marks } = machine;
  const alarms = machine.alarms.filter(
    (alarm) =>
      !isBesideFindings || alarm.alarm !== "finding" || findingOf(machine, alarm) === undefined,
  );
  const shown = [reason, changed, zone, zoneSince, running, marks, alarms, speedRpm];
  const key = JSON.stringify([...shown, notLiveSinceMs]);
  replaceAnew(facts, key, () => [
    h(
      "ul",
      null,
      ...(machine.alarms.length === 0 ? [h("li", null, timedText(model, reason))] : []),
      ...alarms.map((alarm) =>
        h(
          "li",
          null,
          timedText(model, alarm.text),
          " Since ",
          timeNode(model, Date.parse(alarm.since)),
        ),
      ),
    ),
    changed !== null && h("p", { class: "sub" }, changed.text),
    zone !== null &&
      zoneSince !== null &&
      h(
        "p",
        { class: "sub" },
        `zone ${zone} since ${dayText(zoneSince)}`,
        notLiveSinceMs !== null && ", not live since ",
        notLiveSinceMs !== null && timeNode(model, notLiveSinceMs),
      ),
    speedRpm !== null && h("p", { class: "sub" }, `${number(speedRpm, "rpm")} rpm`),
    ...marks.map(({ text }) => h("p", { class: "sub" }, timedText(model, text))),
  ]);
}

/** A day of a calendar, in whatever zone. @param iso its 00:00 UTC */
const dayText = (iso: string) => UTC_DAYS.day(Date.parse(iso));
const UTC_DAYS = new ZoneTimes("UTC");

/** Where an unknown machine is mended: the site file says what it lacks, a sensor's page why nothing comes. */
export function mendLink(
  { unknown, sensors }: RankedMachine,
  hasSetup: boolean,
): HTMLElement | null {
  if (unknown === null) return null;
  const isOfSite =
    unknown === "no_sensor" || unknown === "not_read" || unknown === "nothing_judged";
  if (isOfSite)
    return hasSetup
      ? h("a", { href: "#/setup" }, "Open the set-up page")
      : h("a", { href: `manual/${SITE_FILE_CHAPTER}` }, "How to change the site file");
  const [first] = sensors;
  return first === undefined ? null : h("a", { href: linkTo("sensor", first) }, "Show the sensor");
}

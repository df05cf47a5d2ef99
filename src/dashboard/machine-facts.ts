/** What stands behind a machine's state, and where what is unknown is mended. */
import type { RankedMachine } from "../core/condition/shown.ts";
import { SITE_FILE_CHAPTER } from "./chapter.ts";
import { h, keptList } from "./dom.ts";
import { number, ZoneTimes } from "./format.ts";
import { findingOf } from "./machine-words.ts";
import { timedText, timeNode } from "./marks.ts";
import type { Model } from "./model.ts";
import { linkTo } from "./place-link.ts";

/** Alarms, what changed, zone, speed, marks. @param isBesideFindings those stand beside it, and are not told twice */
export function machineFacts(model: Model, isBesideFindings: boolean) {
  const list = h("ul");
  const rest = h("div");
  const showAlarms = keptList<{ readonly text: string; readonly since: string }>(
    list,
    ({ text, since }) => `${text} ${since}`,
    ({ text, since }) => ({
      root: h(
        "li",
        null,
        timedText(model, text),
        since !== "" && " Since ",
        since !== "" && timeNode(model, Date.parse(since)),
      ),
    }),
  );
  const showRest = keptList<{ readonly text: string; readonly notLiveMs?: number | null }>(
    rest,
    ({ text, notLiveMs = null }) => `${text} ${notLiveMs}`,
    ({ text, notLiveMs = null }) => ({
      root: h(
        "p",
        { class: "sub" },
        timedText(model, text),
        notLiveMs !== null && ", not live since ",
        notLiveMs !== null && timeNode(model, notLiveMs),
      ),
    }),
  );
  return {
    root: h("div", { class: "entry-facts" }, list, rest),
    /** @param notLiveMs since when nothing of it is live */
    update(machine: RankedMachine, notLiveMs: number | null): void {
      const { reason, changed, zone, zoneSince, speedRpm, marks } = machine;
      const alarms = machine.alarms.filter(
        (alarm) =>
          !isBesideFindings || alarm.alarm !== "finding" || findingOf(machine, alarm) === undefined,
      );
      showAlarms(machine.alarms.length === 0 ? [{ text: reason, since: "" }] : alarms);
      const isZone = zone !== null && zoneSince !== null;
      showRest([
        ...(changed === null ? [] : [{ text: changed.text }]),
        ...(isZone ? [{ text: `zone ${zone} since ${dayText(zoneSince)}`, notLiveMs }] : []),
        ...(speedRpm === null ? [] : [{ text: `${number(speedRpm, "rpm")} rpm` }]),
        ...marks.map(({ text }) => ({ text })),
      ]);
    },
  };
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

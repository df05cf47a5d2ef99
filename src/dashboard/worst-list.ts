/** Machines, worst first, as the agent orders them. A live change never moves a row under hand or focus. */

import { boxFaults } from "../core/box-fault.ts";
import { messageOf } from "../core/thrown.ts";
import { HOUR_MS } from "../core/time-units.ts";
import type { RankedMachine } from "../features/condition/rules/shown.ts";
import { AlarmActionForm } from "./alarm-form.ts";
import type { Api } from "./api.ts";
import { SITE_FILE_CHAPTER } from "./chapter.ts";
import { configurationNews } from "./configuration-news.ts";
import { type Cleanup, h, replace, setText } from "./dom.ts";
import { age, number } from "./format.ts";
import { type BadgeTone, badge, timeNode, zoneBadge } from "./marks.ts";
import type { Model } from "./model.ts";
import { linkTo } from "./place-link.ts";
import { Refresh } from "./refresh.ts";

/** From so many entries on, those that are ok are one line. */
const FOLD_MIN = 20;
/** Most changes show in the alarm counts of the status; this interval catches the rest. */
const REFRESH_MS = 5_000;

const WORDS: Readonly<Record<RankedMachine["condition"], readonly [BadgeTone, string]>> = {
  alarm: ["bad", "Alarm"],
  warning: ["warn", "Warning"],
  watch: ["warn", "Watch"],
  unknown: ["off", "Unknown"],
  standing: ["off", "Standing"],
  ok: ["ok", "OK"],
};

export class WorstList {
  readonly root: HTMLElement;
  readonly stop: Cleanup;
  readonly #api: Api;
  readonly #model: Model;
  readonly #only: number | null;
  readonly #list = h("ul", { class: "alarms" });
  readonly #okList = h("ul", { class: "alarms" });
  readonly #okCount = h("summary");
  readonly #ok = h("details", { hidden: true }, this.#okCount, this.#okList);
  readonly #box = h("p", { class: "fault-text", role: "status" });
  readonly #note = h("p", { class: "hint", role: "status" }, "Reading the machines …");
  readonly #rows = new Map<string, { readonly root: HTMLElement; shown: string }>();
  #machines: readonly RankedMachine[] | null = null;
  #order = "";
  #counts = "";
  /** The row in which somebody has just acknowledged. */
  #done: string | null = null;
  readonly #refresh: Refresh;

  /** @param only one machine, on its own page; null lists all */
  constructor(api: Api, model: Model, only: number | null = null) {
    this.#api = api;
    this.#model = model;
    this.#only = only;
    this.root = h(
      "section",
      { class: "panel machines", "aria-labelledby": "machines-title" },
      this.#box,
      h("h2", { id: "machines-title" }, only === null ? "Machines" : "State"),
      this.#note,
      this.#list,
      this.#ok,
    );
    this.#refresh = new Refresh(
      async () => {
        const all = await api.worstMachines();
        return () => {
          this.#machines = only === null ? all : all.filter(({ id }) => id === only);
          this.#show();
        };
      },
      (error) => void setText(this.#note, `The machines could not be read: ${messageOf(error)}`),
      { ms: REFRESH_MS, isDue: () => model.isLive && !document.hidden },
    );
    const unsubscribe = model.subscribe((change) => {
      if (change !== "status" || model.status === null) return;
      this.#showBox();
      const counts = JSON.stringify([model.status.alarms, model.status.configuration]);
      // At the first status, the list is there or under way; only its times wait for the zone.
      if (this.#counts === "") this.#show();
      else if (counts !== this.#counts) this.#refresh.change();
      this.#counts = counts;
    });
    this.stop = () => {
      this.#refresh.stop();
      unsubscribe();
    };
    this.#showBox();
    this.#refresh.change();
  }

  #showBox(): void {
    const { status } = this.#model;
    if (status === null) return;
    const lines = [...boxFaults(status).map(({ text }) => text), configurationNews(status)];
    setText(this.#box, lines.filter((line) => line !== "").join(" "));
  }

  #show(): void {
    const machines = this.#machines;
    if (machines === null) return;
    setText(this.#note, machines.length === 0 ? "The site file names no machine." : "");
    for (const machine of machines) this.#showRow(machine);
    const isFolded = machines.length >= FOLD_MIN;
    const isOpen = ({ condition }: RankedMachine) => !isFolded || condition !== "ok";
    const open = machines.filter(isOpen).map(keyOf);
    const folded = machines.filter((machine) => !isOpen(machine)).map(keyOf);
    const order = JSON.stringify([open, folded]);
    if (order === this.#order || this.#isHeld()) return;
    this.#order = order;
    for (const key of this.#rows.keys())
      if (!machines.some((machine) => keyOf(machine) === key)) this.#rows.delete(key);
    const rowsOf = (keys: readonly string[]) =>
      keys.flatMap((key) => this.#rows.get(key)?.root ?? []);
    replace(this.#list, ...rowsOf(open));
    replace(this.#okList, ...rowsOf(folded));
    this.#ok.hidden = folded.length === 0;
    setText(this.#okCount, `${folded.length} machines are OK`);
  }

  /** Somebody points at a row, or works in one. A finger leaves no pointer behind, but what it touched has the focus. */
  #isHeld(): boolean {
    return [this.#list, this.#okList].some(
      (list) =>
        list.contains(document.activeElement) ||
        (matchMedia("(hover: hover)").matches && list.matches(":hover")),
    );
  }

  #showRow(machine: RankedMachine): void {
    const key = keyOf(machine);
    const row = this.#rows.get(key) ?? { root: h("li", { "data-machine": key }), shown: "" };
    this.#rows.set(key, row);
    const { order: _, ...content } = machine;
    const { mayChange } = this.#api;
    const { status } = this.#model;
    const hour = status && Math.floor(this.#model.gatewayNowMs() / HOUR_MS);
    const shown = JSON.stringify([content, mayChange, hour, status?.timezone]);
    // What somebody is filling in, or about to press, is not replaced.
    const isInHand = row.root.contains(document.activeElement);
    const isDone = this.#done === key;
    if (shown === row.shown || (isInHand && !isDone)) return;
    row.shown = shown;
    row.root.className = `alarm ${machine.condition === "alarm" ? "severe" : machine.condition}`;
    replace(row.root, ...this.#content(machine));
    if (!isDone) return;
    this.#done = null;
    // Where the button was; a screen reader goes on from there.
    if (isInHand) row.root.querySelector("a")?.focus();
  }

  #content(machine: RankedMachine): (Node | false)[] {
    const { condition, reason, area, since, sinceAtLeast, acknowledged, marks, alarms } = machine;
    const { id, changed, speedRpm, zone, zoneSince } = machine;
    const { status } = this.#model;
    // The gateway's zone and clock come with the status.
    const at = (ms: number) => (status === null ? "…" : timeNode(this.#model, ms));
    const [tone, word] = WORDS[condition];
    const facts: (Node | string)[][] = [];
    if (since !== null) {
      const ms = Date.parse(since);
      const long = status === null ? "" : ` (${age(this.#model.gatewayNowMs() - ms)})`;
      facts.push([sinceAtLeast ? "at least since " : "since ", at(ms), long]);
    }
    if (zone !== null && zoneSince !== null)
      facts.push([`zone ${zone} since `, at(Date.parse(zoneSince))]);
    if (this.#only !== null && speedRpm !== null) facts.push([`${number(speedRpm, "rpm")} rpm`]);
    if (acknowledged) facts.push(["acknowledged"]);
    facts.push(...marks.map(({ text }) => [text]));
    const open = alarms.find((alarm) => !alarm.acknowledged);
    const mend = mendLink(machine, status?.setup === true);
    return [
      h(
        "div",
        { class: "alarm-head" },
        badge(tone, word),
        this.#only === null && h("a", { href: linkOf(machine) }, nameOf(machine)),
        zone !== null && zoneBadge(zone),
        area !== null && h("span", { class: "sub" }, area),
        id !== null && h("a", { href: linkTo("machine", String(id), {}, "report") }, "Report"),
      ),
      condition !== "ok" && h("p", null, reason, mend !== null && " ", mend),
      changed !== null && h("p", { class: "sub" }, changed.text),
      facts.length > 0 &&
        h(
          "p",
          { class: "sub" },
          ...facts.flatMap((fact, i) => (i === 0 ? fact : [" · ", ...fact])),
        ),
      open !== undefined &&
        this.#api.mayChange &&
        new AlarmActionForm(
          this.#api,
          this.#model,
          { ...open, state: "active", acknowledged: null },
          () => {
            this.#done = keyOf(machine);
            this.#refresh.change();
          },
          ["acknowledge"],
        ).root,
    ];
  }
}

const keyOf = ({ id, sensor }: RankedMachine) => (id === null ? `sensor ${sensor}` : String(id));

const nameOf = ({ id, name, sensor }: RankedMachine) =>
  name ?? (id === null ? `Sensor ${sensor}` : `Machine ${id}`);

const linkOf = ({ id, sensor }: RankedMachine) =>
  id === null ? linkTo("sensor", sensor ?? "") : linkTo("machine", String(id));

/** Where an unknown machine is mended: the site file says what it lacks, a sensor's page why nothing comes. */
function mendLink({ unknown, sensors }: RankedMachine, hasSetup: boolean): HTMLElement | null {
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

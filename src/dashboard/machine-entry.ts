/** A machine's entry, as a card or as a row of the table: built once, then only changes are written. */

import type { RankedMachine } from "../core/condition/shown.ts";
import { DAY_MS } from "../core/time-units.ts";
import { AcknowledgeAll } from "./acknowledge-all.ts";
import type { Api } from "./api.ts";
import { changeWords } from "./change-words.ts";
import { type Child, h, replace, replaceAnew, setAttribute, setText } from "./dom.ts";
import { FEATURE_PAGES } from "./feature-pages.ts";
import { age, number, quantity, unitSign } from "./format.ts";
import type { SeenItem } from "./in-view.ts";
import { machineFacts, mendLink } from "./machine-facts.ts";
import { isLive, machineNow } from "./machine-now.ts";
import { alarmTitle, entryWords, velocityOf } from "./machine-words.ts";
import { type BadgeTone, badge, notLiveWords, timedText, timeNode } from "./marks.ts";
import type { Model } from "./model.ts";
import { linkTo } from "./place-link.ts";
import { MONTH_SPAN, sparkOf } from "./sparks.ts";
import { zoneBar } from "./zone-bar.ts";

type Condition = RankedMachine["condition"];

const WORDS: Readonly<Record<Condition, readonly [BadgeTone, string]>> = {
  alarm: ["bad", "Alarm"],
  warning: ["warn", "Warning"],
  watch: ["warn", "Watch"],
  unknown: ["off", "Unknown"],
  standing: ["off", "Standing"],
  ok: ["ok", "OK"],
};

export const COLUMNS = ["Machine", "State", "Velocity", "30 days", "Change", "What and what to do"];

export const keyOf = ({ id, sensor }: RankedMachine): string =>
  id === null ? `sensor ${sensor}` : String(id);

export class MachineEntry {
  readonly key: string;
  readonly acknowledge: AcknowledgeAll;
  readonly #api: Api;
  readonly #model: Model;
  readonly #name = h("a", { class: "entry-name" });
  readonly #area = h("span", { class: "sub" });
  readonly #state = h("span", { class: "entry-state" });
  readonly #figure = h("span", { class: "entry-figure" });
  readonly #bar = h("span");
  readonly #spark = h("span", { class: "entry-spark" });
  readonly #change = h("span", { class: "entry-change" });
  readonly #words = h("span");
  readonly #mend = h("span");
  readonly #title = h("p", { class: "entry-title" }, this.#words, this.#mend);
  readonly #since = h("p", { class: "sub entry-since" });
  readonly #todo = h("p", { class: "entry-todo" });
  readonly #facts: ReturnType<typeof machineFacts>;
  readonly #evidence: HTMLDetailsElement;
  readonly #links = FEATURE_PAGES.flatMap(({ machineLink }) =>
    machineLink === undefined
      ? []
      : [{ part: machineLink.part, link: h("a", { class: "button" }, machineLink.text) }],
  );
  readonly #card = h("li", { class: "card" });
  readonly #row = h("tr", { class: "entry" });
  #machine: RankedMachine;
  #condition: Condition;
  /** The value whose plot is drawn. */
  #drawn = "";

  /** @param isOpen on the machine's page, where findings stand with their spectra */
  constructor(api: Api, model: Model, machine: RankedMachine, onDone: () => void, isOpen = false) {
    this.key = keyOf(machine);
    this.#api = api;
    this.#model = model;
    this.#machine = machine;
    this.#condition = machine.condition;
    this.acknowledge = new AcknowledgeAll(api, this.key, onDone);
    this.#facts = machineFacts(model, isOpen);
    const summary = h("summary", null, "Evidence");
    this.#evidence = h("details", { open: isOpen }, summary, this.#facts.root);
    for (const root of [this.#card, this.#row]) setAttribute(root, "data-machine", this.key);
    this.update(machine);
  }

  get condition(): Condition {
    return this.#condition;
  }

  /** As an item of a list; the parts move there. */
  card(): HTMLElement {
    if (this.#card.hasChildNodes()) return this.#card;
    this.#row.replaceChildren();
    replace(
      this.#card,
      h("div", { class: "card-head" }, this.#state, this.#name, this.#area),
      this.#title,
      h("div", { class: "card-line" }, this.#since, this.#todo),
      h(
        "div",
        { class: "card-figures" },
        h("div", { class: "card-velocity" }, this.#figure, this.#bar),
        this.#spark,
        this.#change,
      ),
      h(
        "div",
        { class: "card-actions" },
        this.acknowledge.root,
        ...this.#links.map(({ link }) => link),
        this.#evidence,
      ),
    );
    return this.#card;
  }

  /** As a row of the table. */
  row(): HTMLElement {
    if (this.#row.hasChildNodes()) return this.#row;
    this.#card.replaceChildren();
    const cell = (...children: Child[]) => h("td", null, ...children);
    replace(
      this.#row,
      h("th", { scope: "row" }, this.#name, this.#area),
      cell(this.#state),
      cell(this.#figure, this.#bar),
      cell(this.#spark),
      cell(this.#change),
      cell(
        this.#title,
        this.#since,
        this.#todo,
        h(
          "div",
          { class: "card-actions" },
          this.acknowledge.root,
          ...this.#links.map(({ link }) => link),
          this.#evidence,
        ),
      ),
    );
    return this.#row;
  }

  /** What draws its plot once it is in view. */
  seen(root: Element): SeenItem {
    return {
      root,
      key: `${this.key} ${root.tagName}`,
      isStale: () => {
        const shown = velocityOf(this.#model, this.#machine);
        return shown !== null && this.#drawn !== `${shown.sensor.code} ${shown.name}`;
      },
      draw: async (asking) => {
        const shown = velocityOf(this.#model, this.#machine);
        if (shown === null) return;
        const { sensor, kind, name, where } = shown;
        const value = { kind, name, label: where };
        const nowMs = this.#model.gatewayNowMs();
        const spark = await sparkOf(this.#api, sensor, value, MONTH_SPAN, nowMs, asking);
        this.#drawn = `${sensor.code} ${name}`;
        replace(this.#spark, spark);
      },
    };
  }

  update(machine: RankedMachine): void {
    this.#machine = machine;
    const model = this.#model;
    const now = machineNow(model, machine);
    this.#condition = now.condition;
    const { id, area, sensor } = machine;
    for (const root of [this.#card, this.#row]) setAttribute(root, "data-state", now.condition);
    setText(this.#name, nameOf(machine));
    setAttribute(
      this.#name,
      "href",
      id === null ? linkTo("sensor", sensor ?? "") : linkTo("machine", String(id)),
    );
    setText(this.#area, area ?? "");
    const isAcknowledged = machine.acknowledged;
    const silence = this.#age(now.notLiveSinceMs);
    const state = `${now.condition} ${isAcknowledged} ${now.isNotKnown} ${now.notLiveSinceMs} ${silence}`;
    replaceAnew(this.#state, state, () => [
      badge(...WORDS[now.condition]),
      isAcknowledged && h("span", { class: "sub" }, " acknowledged"),
      now.notLiveSinceMs !== null &&
        h(
          "span",
          { class: "sub" },
          now.isNotKnown ? " not known since " : " not live since ",
          timeNode(model, now.notLiveSinceMs),
          silence,
        ),
    ]);
    this.#showVelocity(machine, now.notLiveSinceMs !== null);
    const { text, more } = changeWords(machine);
    replaceAnew(this.#change, `${text} ${more}`, () => [
      h("span", { class: "figure" }, text),
      h("span", { class: "sub" }, ` ${more}`),
    ]);
    const words = entryWords(model, machine, now.condition);
    const mend = mendLink(machine, model.status?.setup === true && this.#api.mayChange);
    replaceAnew(this.#words, words.title, () => [timedText(model, words.title)]);
    const mendKey = `${mend?.textContent} ${mend?.getAttribute("href")}`;
    replaceAnew(this.#mend, mendKey, () => [mend !== null && " ", mend]);
    setText(this.#todo, words.todo);
    this.#todo.hidden = words.todo === "";
    this.#showSince(machine, now.notLiveSinceMs);
    this.#evidence.hidden =
      now.condition === "ok" && machine.marks.length === 0 && machine.changed === null;
    this.#facts.update(machine, now.notLiveSinceMs);
    for (const { part, link } of this.#links) {
      setAttribute(link, "href", id === null ? null : linkTo("machine", String(id), {}, part));
      link.hidden = id === null;
    }
    const open = machine.alarms.filter((alarm) => !alarm.acknowledged);
    this.acknowledge.show(
      open.map((alarm) => ({ id: alarm.id, title: alarmTitle(model, machine, alarm) })),
    );
  }

  /** @param isSilent the state says since when nothing of it is live */
  #showVelocity(machine: RankedMachine, isSilent: boolean): void {
    const shown = velocityOf(this.#model, machine);
    const notLive = shown === null || isSilent ? "" : notLiveWords(this.#model, shown.sensor);
    const value = shown === null ? "" : `${shown.value} ${shown.unit} ${shown.where} ${notLive}`;
    replaceAnew(this.#figure, value, () =>
      shown === null
        ? [h("span", { class: "none" }, "no value")]
        : [
            h(
              "span",
              { class: "value" },
              h("span", { class: "figure big" }, number(shown.value, shown.unit)),
              h("span", { class: "unit" }, ` ${unitSign(shown.unit).replace(/ RMS$/, "")} RMS`),
            ),
            h("span", { class: "sub where" }, ` ${shown.where}`),
            notLive !== "" && h("span", { class: "sub" }, ` ${notLive}`),
          ],
    );
    if (shown !== null)
      setAttribute(this.#figure, "title", `${quantity(shown.value, shown.unit)} at ${shown.where}`);
    const isNow = shown !== null && isLive(this.#model, shown.sensor);
    const bar =
      shown === null ? "" : `${shown.value} ${shown.zone} ${shown.sensor.machineClass} ${isNow}`;
    replaceAnew(this.#bar, bar, () =>
      shown === null ? [] : [zoneBar(shown.value, shown.zone, shown.sensor, isNow)],
    );
    // Another value, another plot.
    if (
      shown !== null &&
      this.#drawn !== "" &&
      this.#drawn !== `${shown.sensor.code} ${shown.name}`
    )
      replace(this.#spark);
  }

  /** @param notLiveSinceMs the state says it */
  #showSince({ since, sinceAtLeast }: RankedMachine, notLiveSinceMs: number | null): void {
    const model = this.#model;
    const sinceMs = since === null ? null : Date.parse(since);
    const days = sinceMs === null ? 0 : Math.floor((model.gatewayNowMs() - sinceMs) / DAY_MS);
    const hours = this.#age(sinceMs);
    this.#since.hidden = sinceMs === null || sinceMs === notLiveSinceMs;
    replaceAnew(this.#since, `${since} ${sinceAtLeast} ${days} ${hours}`, () => [
      sinceAtLeast ? "at least since " : "since ",
      sinceMs !== null && timeNode(model, sinceMs, "day"),
      hours,
    ]);
  }

  /** How long ago, " (5 days)"; empty for never and until the gateway's clock is known. */
  #age(sinceMs: number | null): string {
    if (sinceMs === null || !this.#model.isZoneKnown) return "";
    return ` (${age(this.#model.gatewayNowMs() - sinceMs)})`;
  }
}

const nameOf = ({ id, name, sensor }: RankedMachine) =>
  name ?? (id === null ? `Sensor ${sensor}` : `Machine ${id}`);

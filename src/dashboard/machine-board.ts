/** The machines, worst first: cards, or a table from 20 entries on. A live change never moves an entry under hand or focus. */
import type { RankedMachine } from "../core/condition/shown.ts";
import type { Api } from "./api.ts";
import { arrange, type Cleanup, h, oncePerFrame, setText } from "./dom.ts";
import { Hand } from "./hand.ts";
import { InView } from "./in-view.ts";
import { COLUMNS, keyOf, MachineEntry } from "./machine-entry.ts";
import type { MachineFeed } from "./machine-feed.ts";
import type { Model } from "./model.ts";

/** From so many entries on they are a table, and those that are ok one folded group. */
const TABLE_MIN = 20;
/** Daily values: they change seldom. */
const SPARK_AGAIN_MS = 600_000;
/** On a telephone they are cards, however many. */
const NARROW = "(max-width: 599px)";
/** Up to so many that need somebody are seen at once, beside the sensors: those that are ok are a line then. */
const SEEN_AT_ONCE = 4;

export class MachineBoard {
  readonly root: HTMLElement;
  readonly stop: Cleanup;
  readonly #api: Api;
  readonly #model: Model;
  readonly #feed: MachineFeed;
  readonly #note = h("p", { class: "hint", role: "status" }, "Reading the machines …");
  readonly #empty = h("p", { hidden: true });
  readonly #moved = h(
    "button",
    { type: "button", class: "moved", hidden: true },
    "The order has changed – show",
  );
  readonly #cards = h("ul", { class: "cards" });
  readonly #rows = h("tbody");
  readonly #okRows = h("tbody");
  readonly #okButton = h("button", { type: "button", class: "fold", "aria-expanded": "false" });
  readonly #okHead = h(
    "tbody",
    null,
    h(
      "tr",
      { class: "group" },
      h("th", { scope: "rowgroup", colspan: COLUMNS.length }, this.#okButton),
    ),
  );
  readonly #table: HTMLTableElement;
  readonly #okCards = h("ul", { class: "cards" });
  readonly #okCount = h("summary");
  readonly #ok = h("details", { class: "ok-line" }, this.#okCount, this.#okCards);
  readonly #entries = new Map<string, MachineEntry>();
  readonly #view: InView;
  readonly #hand: Hand;
  #order = "";

  constructor(api: Api, model: Model, feed: MachineFeed) {
    this.#api = api;
    this.#model = model;
    this.#feed = feed;
    this.#view = new InView(model, SPARK_AGAIN_MS);
    this.#table = h(
      "table",
      { class: "plain machine-table", "aria-labelledby": "machines-title" },
      h("thead", null, h("tr", null, ...COLUMNS.map((text) => h("th", { scope: "col" }, text)))),
      this.#rows,
      this.#okHead,
      this.#okRows,
    );
    this.#okRows.hidden = true;
    this.#okButton.addEventListener("click", () => {
      this.#okRows.hidden = !this.#okRows.hidden;
      this.#okButton.setAttribute("aria-expanded", String(!this.#okRows.hidden));
      this.#watch();
    });
    this.#ok.addEventListener("toggle", () => this.#watch());
    this.root = h(
      "section",
      { class: "panel machines", "aria-labelledby": "machines-title" },
      h("div", { class: "panel-head" }, h("h2", { id: "machines-title" }, "Machines"), this.#moved),
      this.#note,
      this.#empty,
      this.#cards,
      this.#table,
      this.#ok,
    );
    this.#hand = new Hand(this.root, () => this.#show());
    this.#moved.addEventListener("click", () => {
      this.#hand.free();
      this.#show();
    });
    const narrow = matchMedia(NARROW);
    const soon = oncePerFrame(() => this.#show());
    narrow.addEventListener("change", soon);
    const unsubscribe = model.subscribe((change) => {
      if (change !== "gaps" && change !== "faults") soon();
    });
    this.stop = () => {
      narrow.removeEventListener("change", soon);
      unsubscribe();
      this.#view.stop();
      this.#hand.stop();
    };
    this.#show();
  }

  #show(): void {
    const { machines, machinesError } = this.#model;
    if (machinesError !== "")
      setText(this.#note, `The machines could not be read: ${machinesError}`);
    if (machines === null) return;
    if (machinesError === "") setText(this.#note, "");
    this.#showEmpty(machines.length === 0);
    for (const machine of machines) this.#update(machine);
    const isTable = machines.length >= TABLE_MIN && !matchMedia(NARROW).matches;
    const all = machines
      .map((machine) => this.#entries.get(keyOf(machine)))
      .filter((one) => one !== undefined);
    const well = all.filter(({ condition }) => condition === "ok");
    // A few that need somebody, or too many in all: those that are ok are one line.
    const needing = all.length - well.length;
    const isFolded = machines.length >= TABLE_MIN || (needing > 0 && needing <= SEEN_AT_ONCE);
    const open = isFolded ? all.filter(({ condition }) => condition !== "ok") : all;
    const folded = isFolded ? well : [];
    const order = JSON.stringify([
      isTable,
      open.map(({ key }) => key),
      folded.map(({ key }) => key),
    ]);
    const isHeld = order !== this.#order && this.#order !== "" && this.#hand.isHolding();
    this.#moved.hidden = !isHeld;
    this.#view.look();
    if (order === this.#order || isHeld) return;
    this.#order = order;
    this.#table.hidden = !isTable;
    this.#cards.hidden = isTable;
    this.#ok.hidden = isTable || folded.length === 0;
    this.#okHead.hidden = folded.length === 0;
    const words = `${folded.length} ${folded.length === 1 ? "machine is" : "machines are"} OK`;
    setText(this.#okCount, words);
    setText(this.#okButton, words);
    arrange(
      isTable ? this.#rows : this.#cards,
      open.map((one) => (isTable ? one.row() : one.card())),
    );
    arrange(
      isTable ? this.#okRows : this.#okCards,
      folded.map((one) => (isTable ? one.row() : one.card())),
    );
    const known = new Set(all);
    for (const [key, entry] of this.#entries) if (!known.has(entry)) this.#entries.delete(key);
    this.#watch();
  }

  #update(machine: RankedMachine): void {
    const key = keyOf(machine);
    const known = this.#entries.get(key);
    if (known !== undefined) return known.update(machine);
    const done = () => {
      // The page itself leaves the focus there: that holds nothing.
      this.#hand.free();
      this.#feed.change();
    };
    this.#entries.set(key, new MachineEntry(this.#api, this.#model, machine, done));
  }

  #showEmpty(isEmpty: boolean): void {
    this.#empty.hidden = !isEmpty;
    if (!isEmpty || this.#model.status === null || this.#empty.hasChildNodes()) return;
    const hasSetup = this.#model.status?.setup === true && this.#api.mayChange;
    const hasSensors = (this.#model.status?.sensors.length ?? 0) > 0;
    this.#empty.append(
      hasSensors
        ? "No machine is set up yet. "
        : "No sensors are configured yet, so nothing is read. ",
      hasSetup
        ? h("a", { href: hasSensors ? "#/setup/machines" : "#/setup" }, "Open the set-up page")
        : h("a", { href: "manual/site-file.html#machines-and-alarms" }, "How machines are set up"),
    );
  }

  #watch(): void {
    const entries = [...this.#entries.values()];
    this.#view.watch(
      entries.map((entry) => entry.seen(this.#table.hidden ? entry.card() : entry.row())),
    );
  }
}

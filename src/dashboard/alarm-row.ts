/** An alarm as a row of the table: built once, then only changes are written; an open form stays. */
import { type ShownAlarm, shownTime } from "../core/alarm/shown.ts";
import { AlarmActionForm } from "./alarm-form.ts";
import { alarmLink, alarmName, alarmValue, severityBadge } from "./alarm-words.ts";
import type { Api } from "./api.ts";
import { type Child, h, replaceAnew, setAttribute, setText } from "./dom.ts";
import { age, quantity } from "./format.ts";
import { alarmTitle, nameInSite } from "./machine-words.ts";
import { timedText, timeNode } from "./marks.ts";
import type { Model } from "./model.ts";

export class AlarmRow {
  readonly root: HTMLTableRowElement;
  readonly check: HTMLInputElement | null;
  readonly #model: Model;
  readonly #severity = h("td");
  readonly #what = h("div");
  /** Written, never made anew: a name that comes late takes no focus. */
  readonly #sensor = h("a");
  readonly #since = h("td", { class: "c-since" });
  readonly #facts = h("td");
  readonly #form: AlarmActionForm | null;
  readonly #isEvent: boolean;
  #alarm: ShownAlarm;

  /**
   * @param onSelect null where nothing can be done with it
   * @param isEvent of the history: its time is its own
   */
  constructor(
    api: Api,
    model: Model,
    alarm: ShownAlarm,
    onDone: () => void,
    onSelect: (() => void) | null,
    isEvent: boolean,
  ) {
    this.#isEvent = isEvent;
    this.#model = model;
    this.#alarm = alarm;
    this.check =
      onSelect === null
        ? null
        : h("input", { type: "checkbox", "data-id": alarm.id, change: onSelect });
    this.#form = onSelect === null ? null : new AlarmActionForm(api, model, alarm, onDone);
    this.root = h(
      "tr",
      { class: "alarm", "data-alarm": alarm.id },
      this.check !== null && h("td", { class: "c-check" }, this.check),
      this.#severity,
      // Beside what is written anew: a form that is typed into keeps its focus.
      h("td", null, this.#what, this.#form?.root),
      h("td", null, this.#sensor),
      this.#since,
      this.#facts,
    );
    this.update(alarm);
  }

  get alarm(): ShownAlarm {
    return this.#alarm;
  }
  /** Somebody has typed into its form. */
  get isTouched(): boolean {
    return this.#form?.isTouched === true;
  }

  update(alarm: ShownAlarm): void {
    this.#alarm = alarm;
    const model = this.#model;
    const text = alarm.newest?.text ?? alarm.text;
    const sensor = model.sensors.get(alarm.sensor);
    const title = titleOf(model, alarm);
    const name =
      sensor === undefined
        ? (alarm.name ?? `Sensor ${alarm.sensor}`)
        : nameInSite(model, alarm.sensor);
    setAttribute(this.root, "data-severity", alarm.severity ?? null);
    replaceAnew(this.#severity, `${alarm.severity} ${alarm.state}`, () => [severityBadge(alarm)]);
    setAttribute(this.#sensor, "href", alarmLink(alarm));
    setText(this.#sensor, name);
    this.check?.setAttribute("aria-label", `Select ${title}, ${name}`);
    replaceAnew(this.#what, `${title} ${text} ${alarm.historical}`, () => [
      h("strong", null, title),
      text !== undefined && h("p", { class: "sub" }, timedText(model, text)),
      alarm.historical === true && h("p", { class: "sub" }, "from history"),
    ]);
    const time = shownTime(alarm, this.#isEvent);
    replaceAnew(this.#since, time ?? "", () =>
      time === undefined ? [] : [timeNode(model, Date.parse(time), "short")],
    );
    const facts = factsOf(model, alarm, time);
    replaceAnew(
      this.#facts,
      JSON.stringify([
        alarm.raised,
        alarm.time,
        alarm.worst,
        alarm.limit,
        alarm.newest,
        alarm.acknowledged,
        alarm.shelved,
        alarm.note,
        alarm.state,
      ]),
      () => facts.map((fact) => h("p", { class: "sub" }, ...fact)),
    );
    this.#form?.update(alarm);
  }
}

/** As on the machine's card where it stands there. */
function titleOf(model: Model, alarm: ShownAlarm): string {
  const machine = model.machines?.find(({ alarms }) => alarms.some(({ id }) => id === alarm.id));
  const own = machine?.alarms.find(({ id }) => id === alarm.id);
  if (machine !== undefined && own !== undefined) return alarmTitle(model, machine, own);
  if (alarm.alarm === "zone" && /zone [A-D]/i.test(alarm.text ?? ""))
    return alarmTitle(model, null, alarm);
  const sensor = model.sensors.get(alarm.sensor);
  const parts = [alarmName(alarm.alarm), alarmValue(alarm, sensor).replace(/ Value$/, "")];
  return parts.filter((part) => part !== "").join(", ");
}

/** @param shown the time that is told already */
function factsOf(model: Model, alarm: ShownAlarm, shown: string | undefined): Child[][] {
  const { raised, since, time, worst, unit, acknowledged, shelved, note } = alarm;
  const { limit, measured, stage } = alarm.newest ?? { limit: alarm.limit };
  const at = (text: string) => timeNode(model, Date.parse(text));
  // How long it has been silent is a time.
  const size = (value: number) =>
    alarm.alarm === "silent" ? age(value * 1000) : quantity(value, unit);
  const facts: Child[][] = [];
  if (since !== undefined && since !== shown) facts.push(["since ", at(since)]);
  if (raised !== undefined && raised !== since && raised !== shown)
    facts.push(["raised ", at(raised)]);
  if (alarm.state === "cleared" && time !== undefined && time !== shown)
    facts.push(["ended ", at(time)]);
  if (typeof stage === "number") facts.push([`stage ${stage} of 3`]);
  if (typeof measured === "number") facts.push([`now ${size(measured)}`]);
  if (typeof limit === "number") facts.push([`limit ${size(limit)}`]);
  // The newest may be worse than what the alarm's last step knew.
  const beyond = (value: number) => (typeof limit === "number" ? Math.abs(value - limit) : value);
  const isNowWorse =
    typeof measured === "number" &&
    typeof worst?.measured === "number" &&
    beyond(measured) > beyond(worst.measured);
  if (typeof worst?.measured === "number" && !isNowWorse)
    facts.push([`worst ${size(worst.measured)} `, at(worst.time)]);
  if (acknowledged !== null) facts.push(["acknowledged by ", ...attribution(acknowledged, at)]);
  if (shelved)
    facts.push(["shelved until ", at(shelved.until), " by ", ...attribution(shelved, at)]);
  if (note) facts.push(["note by ", ...attribution(note, at)]);
  return facts;
}

function attribution(
  { by, time, note }: { readonly by: string; readonly time: string; readonly note: string | null },
  at: (text: string) => Node,
): Child[] {
  return [`${by}, `, at(time), note === null ? "" : `: “${note}”`];
}

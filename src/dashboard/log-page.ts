/** The newest lines of the agent's log: by level and text, followed, to download; more detail for a while. */

import type { JsonObject } from "../core/record.ts";
import { LOG_LEVELS, type LogLevel, type ShownLog } from "../core/status/log-view.ts";
import { messageOf } from "../core/thrown.ts";
import { refusalText } from "./agent-access.ts";
import type { Api } from "./api.ts";
import { attempt } from "./attempt.ts";
import { type Cleanup, h, replace, setText } from "./dom.ts";
import { timeNode, timeText } from "./marks.ts";
import type { Model } from "./model.ts";
import { placeNow, remember } from "./place.ts";
import { type Asking, Refresh } from "./refresh.ts";

const FOLLOW_MS = 2_000;
/** Lines in the page; the older ones are in the download. */
const SHOWN_MAX = 1_000;
const DEBUG_MINUTES = 15;
const LEVELS = ["debug", "info", "warn", "error"] as const satisfies readonly LogLevel[];
const levelOf = (text: string | null) => LEVELS.find((level) => level === text) ?? "info";
/** The words of a line stand before its members. */
const HEAD = new Set(["level", "time", "msg"]);

export function logPage(parent: HTMLElement, api: Api, model: Model): Cleanup {
  const page = new LogPanel(api, model);
  replace(parent, page.root);
  return page.stop;
}

class LogPanel {
  readonly root: HTMLElement;
  readonly stop: Cleanup;
  readonly #api: Api;
  readonly #model: Model;
  readonly #list = h("ol", { class: "log-lines", tabindex: 0, "aria-label": "Lines of the log" });
  readonly #note = h("p", { class: "hint", role: "status" });
  /** Of a press; the lines that go on coming do not take it away. */
  readonly #fault = h("p", { class: "fault-text", role: "alert" });
  readonly #empty = h(
    "p",
    { class: "empty", hidden: true },
    "No line of this level and text since the start. Choose another level, or clear the text.",
  );
  readonly #debug: HTMLButtonElement;
  readonly #download = h("a", { class: "button", download: "" }, "Download");
  readonly #follow: HTMLInputElement;
  #level: LogLevel;
  #text: string;
  #after: number | null = null;
  #debugUntilMs: number | null = null;
  /** Lines after those that are shown; all of them after a choice. */
  readonly #refresh: Refresh;

  constructor(api: Api, model: Model) {
    this.#api = api;
    this.#model = model;
    const { query } = placeNow();
    this.#level = levelOf(query.get("level"));
    this.#text = query.get("q") ?? "";
    this.#follow = h("input", { type: "checkbox", checked: true });
    this.#debug = h("button", {
      type: "button",
      click: attempt(
        () => this.#switchDebug(),
        (why) => void setText(this.#fault, why === "" ? "" : `Not done: ${why}`),
      ),
    });
    const levels = h(
      "select",
      { change: () => this.#choose(levelOf(levels.value), this.#text) },
      ...LEVELS.map((level) =>
        h("option", { value: level, selected: level === this.#level }, `${level} and worse`),
      ),
    );
    const search = h("input", {
      type: "search",
      maxlength: 100,
      value: this.#text,
      input: () => this.#choose(this.#level, search.value.trim()),
    });
    this.root = h(
      "section",
      { class: "panel", "aria-labelledby": "log-title" },
      h("div", { class: "panel-head" }, h("h1", { id: "log-title", tabindex: -1 }, "Log")),
      h(
        "div",
        { class: "log-tools" },
        h("label", null, "Level ", levels),
        h("label", null, "Text ", search),
        h("label", null, this.#follow, " Follow"),
        this.#download,
        this.#debug,
      ),
      this.#fault,
      this.#note,
      this.#empty,
      this.#list,
    );
    this.#refresh = new Refresh(
      (asking) => this.#ask(asking),
      (error) => void setText(this.#note, messageOf(error)),
      { ms: FOLLOW_MS, isDue: () => this.#follow.checked },
    );
    // A restarted agent counts its lines anew, and may have more of them than were shown.
    let startedAtMs = model.status?.startedAtMs;
    const unsubscribe = model.subscribe((change) => {
      const now = model.status?.startedAtMs;
      if (change !== "status" || now === startedAtMs) return;
      const isRestarted = startedAtMs !== undefined;
      startedAtMs = now;
      if (!isRestarted) return;
      this.#after = null;
      this.#refresh.choose();
    });
    this.stop = () => {
      unsubscribe();
      this.#refresh.stop();
    };
    this.#choose(this.#level, this.#text);
  }

  #choose(level: LogLevel, text: string): void {
    this.#level = level;
    this.#text = text;
    remember({ level: level === "info" ? null : level, q: text });
    this.#download.setAttribute("href", `api/v1/log?${this.#query({ format: "jsonl" })}`);
    this.#after = null;
    this.#refresh.choose();
  }

  #query(more: Readonly<Record<string, string>>): string {
    const text = this.#text === "" ? {} : { q: this.#text };
    return new URLSearchParams({ level: this.#level, ...text, ...more }).toString();
  }

  async #ask(asking: Asking): Promise<() => void> {
    const more = this.#after === null ? {} : { after: String(this.#after) };
    const { status, body } = await this.#api.read<ShownLog>(`log?${this.#query(more)}`, asking);
    if (status !== 200) throw new Error(refusalText(body));
    return () => this.#show(body);
  }

  #show(log: ShownLog): void {
    // Its answer may come before the status that says so.
    if (this.#after !== null && log.last < this.#after) {
      this.#after = null;
      return this.#refresh.change();
    }
    const items = log.lines.map((line) => lineNode(this.#model, line));
    if (this.#after === null) replace(this.#list);
    this.#list.append(...items);
    this.#empty.hidden = this.#list.childElementCount > 0;
    while (this.#list.childElementCount > SHOWN_MAX) this.#list.firstElementChild?.remove();
    if (items.length > 0) this.#list.scrollTop = this.#list.scrollHeight;
    this.#after = log.last;
    this.#debugUntilMs = log.debugUntilMs;
    this.#showState(log);
  }

  #showState({ level, dropped }: ShownLog): void {
    const isOn = this.#debugUntilMs !== null;
    setText(this.#debug, isOn ? "End debug" : `Debug for ${DEBUG_MINUTES} minutes`);
    this.#debug.hidden = !this.#api.mayChange;
    const until = isOn ? ` until ${timeText(this.#model, this.#debugUntilMs ?? 0)}` : "";
    const lost = dropped === 0 ? "since the start" : `the newest; ${dropped} older ones are gone`;
    setText(this.#note, `The agent logs at level ${level}${until}. Lines ${lost}.`);
  }

  async #switchDebug(): Promise<void> {
    const minutes = this.#debugUntilMs === null ? DEBUG_MINUTES : 0;
    const { status, body } = await this.#api.send("POST", "log/debug", { minutes });
    if (status !== 200) throw new Error(refusalText(body));
    // Another page is open by now, and the address is its own.
    if (!this.root.isConnected) return;
    // The lines wanted are those of the level that was asked for.
    if (minutes > 0) this.#choose("debug", this.#text);
    else this.#refresh.change();
  }
}

function lineNode(model: Model, line: JsonObject): HTMLElement {
  const level =
    [...LEVELS].reverse().find((one) => Number(line["level"]) >= LOG_LEVELS[one]) ?? "debug";
  const members = Object.entries(line).filter(([name]) => !HEAD.has(name));
  const text = members.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(" ");
  const { msg } = line;
  return h(
    "li",
    { "data-level": level },
    timeNode(model, Date.parse(String(line["time"])), "full"),
    h("span", { class: "log-level" }, level),
    h("span", null, typeof msg === "string" ? msg : ""),
    h("span", { class: "sub" }, text),
  );
}

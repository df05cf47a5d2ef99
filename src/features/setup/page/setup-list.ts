/** The entries of one list of a file, each with a link to its form. */

import { isJsonObject, type JsonObject } from "../../../core/record.ts";
import { h, replace } from "../../../dashboard/dom.ts";
import { linkTo } from "../../../dashboard/place-link.ts";
import { entriesOf } from "../../../dashboard/setup-difference.ts";
import { type FilePart, SetupFile } from "../../../dashboard/setup-file.ts";
import { wordOf } from "../../../dashboard/setup-schema.ts";
import type { SetupView } from "../../../dashboard/setup-view.ts";
import { choiceWords } from "../../../dashboard/words.ts";
import { setupLinks } from "./setup-links.ts";

export interface ListView {
  readonly part: FilePart;
  /** The view of one entry. */
  readonly one: string;
  /** The member that identifies it. */
  readonly key: string;
  readonly word: string;
  readonly empty: string;
  /** Members shown first in its form. */
  readonly first: readonly string[];
  /** What a new one begins with; absent: nothing. */
  readonly initial?: JsonObject;
  /** Other entries that are removed with it. */
  readonly removed: string;
  readonly line: (entry: JsonObject) => string;
}

const texts = (value: unknown) => (Array.isArray(value) ? value.map(String).join(", ") : "");
const kindsOf = ({ kinds }: JsonObject) =>
  Array.isArray(kinds) ? kinds.map((kind) => choiceWords(String(kind))).join(", ") : "";
const placeOf = ({ location }: JsonObject) => {
  const { names } = isJsonObject(location) ? location : { names: null };
  return isJsonObject(names) ? [names["machine"], names["point"]].filter(Boolean).join(", ") : "";
};

export const LISTS_BY_VIEW: Readonly<Record<string, ListView>> = {
  sensors: {
    part: "site",
    one: "sensor",
    key: "code",
    word: "sensor",
    empty: "No sensors yet.",
    first: [
      "code",
      "type",
      "name",
      "kinds",
      "channels",
      "location",
      "machineClass",
      "speedRpm",
      "enabled",
    ],
    removed: "It is no longer read. Its stored readings are kept.",
    line: (one) =>
      [kindsOf(one), placeOf(one), one["enabled"] === false && "not read"]
        .filter(Boolean)
        .join(" · "),
  },
  machines: {
    part: "site",
    one: "machine",
    key: "id",
    word: "machine",
    empty:
      "No machines yet. They are required for findings and for alarms that apply only while a machine is running.",
    first: ["id", "name", "running", "speed"],
    removed: "Its findings end.",
    line: (one) => wordOf(one["name"]),
  },
  alarms: {
    part: "site",
    one: "alarm",
    key: "name",
    word: "alarm rule",
    empty:
      "No custom rules. The built-in alarms work without any: zones C and D, low battery, silence, bad quality.",
    first: [
      "name",
      "select",
      "highHigh",
      "high",
      "low",
      "lowLow",
      "hysteresis",
      "delay",
      "onlyRunning",
    ],
    removed: "Its active alarms are cleared.",
    line: (one) => (isJsonObject(one["select"]) ? texts(one["select"]["values"]) : ""),
  },
  uplinks: {
    part: "uplinks",
    one: "uplink",
    key: "name",
    word: "uplink",
    empty: "No uplinks except main, which is configured by the MQTT_… settings.",
    first: ["name", "url", "username", "password", "passwordFile", "caFile", "formats", "profile"],
    initial: { machines: true },
    removed: "Its undelivered readings are dropped and counted.",
    line: (one) => wordOf(one["url"]),
  },
};

export async function listView(view: SetupView, name: string, list: ListView): Promise<void> {
  const { api, place, about, signal } = view;
  if (list.part === "uplinks" && about.uplinks === null) return showNoUplinks(place);
  const file = await SetupFile.load(api, list.part, signal);
  if (signal.aborted) return;
  const entries = entriesOf(file.content, name);
  replace(
    place,
    file.isBroken &&
      about.isNamed &&
      h(
        "p",
        { class: "fault-text" },
        "The file on disk is not valid JSON. Correct it there, or restore a version.",
      ),
    entries.length === 0
      ? h("p", { class: "empty" }, list.empty)
      : h(
          "ul",
          { class: "set-list" },
          ...entries.map((entry) => {
            const key = wordOf(entry[list.key]);
            const shown = list.key === "name" ? key : `${wordOf(entry["name"])} ${key}`.trim();
            return h(
              "li",
              null,
              h("a", { href: linkTo("setup", list.one, { key }) }, shown),
              h("span", { class: "sub" }, list.line(entry)),
            );
          }),
        ),
    about.mayChange &&
      h(
        "p",
        { class: "set-actions" },
        h(
          "a",
          { class: "set-button", href: linkTo("setup", list.one) },
          `Add ${list.word === "sensor" || list.word === "machine" ? "a" : "an"} ${list.word}`,
        ),
        ...setupLinks(name),
      ),
  );
}

export function showNoUplinks(place: HTMLElement): void {
  replace(
    place,
    h(
      "p",
      null,
      "Readings go to the broker of MQTT_URL. To add uplinks, set UPLINKS_FILE to a file that the agent can write, and restart the agent (docs/setup.md).",
    ),
  );
}

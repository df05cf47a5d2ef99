/** What somebody did to an alarm. */
import type { AlarmAction } from "../core/alarm/shown.ts";
import { parsedObject } from "../core/parsed-json.ts";
import { h } from "./dom.ts";
import { timedText, timeNode } from "./marks.ts";
import type { Model } from "./model.ts";

const ACTION_WORDS: Readonly<Record<string, string>> = {
  acknowledge: "acknowledged",
  shelve: "shelved",
  unshelve: "unshelved",
  note: "added a note to",
  relearn: "restarted learning of",
};

export function actionItem(model: Model, action: AlarmAction): HTMLElement {
  const { who, what, subject, timeMs, source, outcome } = action;
  const isDone = outcome === "done";
  return h(
    "li",
    { class: "alarm" },
    h(
      "p",
      null,
      timeNode(model, timeMs, "full"),
      ` ${who} ${ACTION_WORDS[what] ?? what} ${subject}${noteOf(action)}`,
    ),
    h(
      "p",
      { class: "sub" },
      `by ${source}`,
      !isDone && ", refused: ",
      !isDone && timedText(model, outcome),
    ),
  );
}

function noteOf({ detail }: AlarmAction): string {
  const note = parsedObject(detail)?.["note"];
  return typeof note === "string" && note !== "" ? `: “${note}”` : "";
}

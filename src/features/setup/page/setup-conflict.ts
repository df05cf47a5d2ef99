/** Somebody else has changed the file: nothing was written, both versions are shown, and a person decides. */
import { h, replace } from "../../../dashboard/dom.ts";
import { differenceLines } from "../../../dashboard/setup-difference.ts";
import type { SetupFile } from "../../../dashboard/setup-file.ts";

interface Conflict {
  readonly mine: SetupFile;
  readonly theirs: SetupFile;
  /** Of the entry. */
  readonly word: string;
  readonly listName: string;
  readonly saveMine: () => void;
}

/** @returns what to look at next */
export function showConflict(place: HTMLElement, conflict: Conflict): HTMLElement {
  const { mine, theirs, word, listName, saveMine } = conflict;
  const lines = differenceLines(mine.content, theirs.content);
  const save = h(
    "button",
    { type: "button", class: "set-main", click: saveMine },
    `Save this ${word} in the changed file`,
  );
  replace(
    place,
    h(
      "p",
      { class: "fault-text" },
      "Not saved: someone else has changed the file since you opened this page. Their changes:",
    ),
    h(
      "ul",
      { class: "set-faults" },
      ...(lines.length === 0 ? ["only its layout"] : lines).map((line) => h("li", null, line)),
    ),
    h(
      "p",
      { class: "set-actions" },
      save,
      h(
        "a",
        { class: "set-button", "data-discard": "", href: `#/setup/${listName}` },
        "Discard my changes and show theirs",
      ),
    ),
  );
  return save;
}

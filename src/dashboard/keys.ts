/** The keys of the dashboard, listed when somebody presses `?`. */
import { h } from "./dom.ts";

const KEYS: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "Everywhere",
    [
      ["Tab, Shift+Tab", "next and previous link, button, field or plot"],
      ["Enter", "opens a link, presses a button"],
      ["Tab, then Enter, on a new page", "skips to the content"],
      ["Esc", "closes a form, a calendar or this list"],
      ["?", "this list"],
    ],
  ],
  [
    "In a plot",
    [
      ["← →", "move the cursor; with Shift ten points at a time"],
      ["+ −", "zoom in and out"],
      ["0 or Esc", "shows everything again"],
      ["Enter", "pins and releases the cursor of a spectrum"],
    ],
  ],
  [
    "In a waterfall",
    [
      ["↑ ↓", "select an older or a newer spectrum"],
      ["Enter", "opens the selected one"],
    ],
  ],
];

/** A button that shows the list, which `?` shows, too, wherever nobody is typing. */
export function keysButton(): HTMLElement {
  const close = h("button", { type: "button", click: () => dialog.close() }, "Close");
  const dialog = h(
    "dialog",
    { class: "keys", "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, "Keys"),
    ...KEYS.flatMap(([place, keys]) => [
      h("h3", null, place),
      h(
        "dl",
        null,
        ...keys.flatMap(([key, does]) => [h("dt", null, h("kbd", null, key)), h("dd", null, does)]),
      ),
    ]),
    close,
  );
  // The browser gives the focus back to where it was.
  const show = () => dialog.open || dialog.showModal();
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target)) return;
    event.preventDefault();
    show();
  });
  document.body.append(dialog);
  return h(
    "button",
    { type: "button", class: "quiet screen-only", "aria-keyshortcuts": "?", click: show },
    "Keys",
  );
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input, select, textarea"))
  );
}

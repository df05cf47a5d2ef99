/** An address that is no page: it may have been typed, or be of another version. */
import { type Cleanup, h, replace } from "./dom.ts";

export function notFoundPage(parent: HTMLElement): Cleanup {
  replace(
    parent,
    h(
      "section",
      { class: "panel", "aria-labelledby": "none-title" },
      h("h1", { id: "none-title", tabindex: -1 }, "There is no such page"),
      h(
        "p",
        null,
        `Nothing is shown at ${location.hash}. The address may be mistyped, or be of another version.`,
      ),
      h("p", null, h("a", { href: "#/" }, "Go to the machines")),
    ),
  );
  return () => {};
}

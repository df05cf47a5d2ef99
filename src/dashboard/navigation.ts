/** The bar of places, the same on every page. On a telephone it is behind one button. */
import type { Api } from "./api.ts";
import { chapterAddress } from "./chapter.ts";
import { h, setAttribute } from "./dom.ts";
import { FEATURE_PAGES } from "./feature-pages.ts";
import { placeNow } from "./place.ts";
import { pageOf } from "./place-link.ts";

/** And the views that belong to it. */
type Place = readonly [name: string, address: string, views: readonly string[]];
const PLACES: readonly Place[] = [
  ["Machines", "#/", ["", "machine"]],
  ["Sensors", "#/sensors", ["sensors", "sensor"]],
  ["Alarms", "#/alarms", ["alarms"]],
  ["Log", "#/log", ["log"]],
];
const ADDED = FEATURE_PAGES.flatMap(({ at, bar }): Place[] =>
  bar === undefined ? [] : [[bar, `#/${at}`, [at]]],
);
/** For whoever may use them. */
const OF_ALL_TOKEN: ReadonlySet<string> = new Set(["Log", ...ADDED.map(([name]) => name)]);
/** The pages of the manual, which nobody signs in to, show the bar by it. */
const MAY_KEY = "gateside.mayChange";

export interface Navigation {
  readonly root: HTMLElement;
  readonly menu: HTMLElement;
  /** What the reader may use is known with the first response. */
  show(api: Api, isStatusKnown: boolean): void;
}

/** @param rest what else stands behind the button on a telephone */
export function navigation(rest: readonly HTMLElement[]): Navigation {
  const links = [...PLACES, ...ADDED].map(([name, href, views]) => {
    const link = h("a", { href, hidden: OF_ALL_TOKEN.has(name) }, name);
    return { name, link, views };
  });
  // In its own tab, so that nothing typed here is lost.
  const manual = h("a", { target: "_blank" }, "Manual");
  const panel = h(
    "div",
    { class: "nav-panel", id: "nav-panel" },
    h(
      "nav",
      { class: "places", "aria-label": "Places" },
      h(
        "ul",
        null,
        ...[...links.map(({ link }) => link), manual].map((link) => h("li", null, link)),
      ),
    ),
    h("div", { class: "nav-rest" }, ...rest),
  );
  const button = h(
    "button",
    {
      type: "button",
      class: "menu-button",
      "aria-expanded": "false",
      "aria-controls": panel.id,
      click: () => open(button.getAttribute("aria-expanded") !== "true"),
    },
    "Menu",
  );
  const open = (isOpen: boolean): void => {
    setAttribute(button, "aria-expanded", String(isOpen));
    setAttribute(panel, "data-open", isOpen ? "yes" : null);
  };
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || button.getAttribute("aria-expanded") !== "true") return;
    open(false);
    button.focus();
  });
  const mark = (): void => {
    const place = placeNow();
    open(false);
    setAttribute(manual, "href", chapterAddress(pageOf(place), FEATURE_PAGES));
    for (const { link, views } of links)
      setAttribute(link, "aria-current", views.includes(place.view) ? "page" : null);
  };
  window.addEventListener("hashchange", mark);
  mark();
  return {
    root: panel,
    menu: button,
    show(api, isStatusKnown) {
      const may = isStatusKnown && api.mayChange;
      for (const { name, link } of links) link.hidden = OF_ALL_TOKEN.has(name) && !may;
      keepRight(may);
    },
  };
}

let kept: boolean | null = null;
function keepRight(may: boolean): void {
  if (kept === may) return;
  kept = may;
  try {
    localStorage.setItem(MAY_KEY, may ? "yes" : "no");
  } catch {
    // Storage may be disabled: the manual shows the bar for everybody.
  }
}

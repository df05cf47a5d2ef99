import { h } from "../../../dashboard/dom.ts";
import { linkTo } from "../../../dashboard/place-link.ts";
import { SETUP_PAGES } from "../../../dashboard/setup-pages.ts";

/** Links to the pages of features below a list of set-up. */
export const setupLinks = (list: string): HTMLElement[] =>
  SETUP_PAGES.filter(({ parent }) => parent === list).map(({ subject, link }) =>
    h("a", { class: "set-button", href: linkTo("setup", subject) }, link),
  );

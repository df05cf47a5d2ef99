/** The report on a machine, as it is printed. */
import { messageOf } from "../core/thrown.ts";
import type { Api } from "./api.ts";
import { type Cleanup, h, replace, setText } from "./dom.ts";
import { placeNow } from "./place.ts";
import { linkTo } from "./place-link.ts";
import { unitsKept } from "./units-kept.ts";

export function reportPage(parent: HTMLElement, api: Api, id: string): Cleanup {
  const { query } = placeNow();
  const status = h("p", { class: "hint", role: "status" }, "Making the report …");
  const place = h("div", { class: "report-sheets" });
  const units = h(
    "select",
    { id: "report-units", change: () => void show() },
    h("option", { value: "kept" }, "as on the pages"),
    h("option", { value: "metric" }, "metric"),
    h("option", { value: "us" }, "US"),
  );
  const preset = query.get("units");
  if (preset === "us" || preset === "metric") units.value = preset;
  // Named h1: the page is announced by it.
  const title = h("h1", { tabindex: -1, class: "screen-only" }, "Report");
  replace(
    parent,
    h(
      "section",
      { class: "panel screen-only", "aria-label": "Report" },
      h(
        "nav",
        { class: "crumbs", "aria-label": "Place" },
        h(
          "ol",
          null,
          h("li", null, h("a", { href: "#/" }, "All sensors")),
          h("li", null, h("a", { href: linkTo("machine", id) }, "Machine")),
        ),
      ),
      title,
      h(
        "div",
        { class: "controls" },
        h("div", { class: "field" }, h("label", { for: units.id }, "Units"), units),
        h(
          "div",
          { class: "tools" },
          h("button", { type: "button", click: () => print() }, "Print"),
        ),
      ),
      status,
    ),
    place,
  );
  const wanted = new AbortController();
  const show = async () => {
    const [from, to] = [query.get("from"), query.get("to")];
    try {
      const range = { ...(from !== null && { from }), ...(to !== null && { to }) };
      const inUnits = units.value === "kept" ? { ...unitsKept() } : { units: units.value };
      const report = await api.report(id, { ...range, ...inUnits }, wanted.signal);
      // The page's policy forbids inline styles, also in a document that is only parsed.
      const style = /<style>(.*?)<\/style>/s.exec(report.html);
      const html = report.html.replace(style?.[0] ?? "", "");
      const made = new DOMParser().parseFromString(html, "text/html");
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(style?.[1] ?? "");
      document.adoptedStyleSheets = [sheet];
      // A page has one main heading, and this one's stands above.
      const heading = made.querySelector("h1");
      heading?.replaceWith(h("h2", { class: "machine" }, heading.textContent));
      replace(place, ...made.body.childNodes);
      // Its own heading stands in the page's title.
      setText(title, report.title);
      setText(status, "");
    } catch (error) {
      if (wanted.signal.aborted) return;
      setText(status, `The report could not be made: ${messageOf(error)}`);
    }
  };
  void show();
  return () => {
    wanted.abort();
    document.adoptedStyleSheets = [];
  };
}

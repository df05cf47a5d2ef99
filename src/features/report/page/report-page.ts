/** The report on a machine, as it is printed. */
import { messageOf } from "../../../core/thrown.ts";
import { DAY_MS } from "../../../core/time-units.ts";
import { type Cleanup, h, replace, setText } from "../../../dashboard/dom.ts";
import { placeNow, remember } from "../../../dashboard/place.ts";
import { linkTo } from "../../../dashboard/place-link.ts";
import { Refresh } from "../../../dashboard/refresh.ts";
import type { PageParts } from "../../../dashboard/section.ts";
import { unitsKept } from "../../../dashboard/units-kept.ts";
import type { Report } from "../rules/input.ts";

const PERIODS = [
  ["7", "last 7 days"],
  ["30", "last 30 days"],
  ["90", "last 90 days"],
  ["365", "last year"],
] as const;

export function reportPage({ content, api, model, subject: id }: PageParts): Cleanup {
  const { query } = placeNow();
  const status = h("p", { class: "hint", role: "status" }, "Making the report …");
  const place = h("div", { class: "report-sheets" });
  const units = h(
    "select",
    { id: "report-units", change: () => show() },
    h("option", { value: "kept" }, "as on the pages"),
    h("option", { value: "metric" }, "metric"),
    h("option", { value: "us" }, "US"),
  );
  const days = h(
    "select",
    { id: "report-days", change: () => show() },
    ...PERIODS.map(([value, text]) => h("option", { value }, text)),
    query.has("from") && h("option", { value: "link" }, "as in the link"),
  );
  days.value = query.has("from") ? "link" : (query.get("days") ?? "30");
  if (days.selectedIndex < 0) days.value = "30";
  const preset = query.get("units");
  if (preset === "us" || preset === "metric") units.value = preset;
  // Named h1: the page is announced by it.
  const title = h("h1", { tabindex: -1, class: "screen-only" }, "Report");
  const machine = h("a", { href: linkTo("machine", id) }, "Machine");
  replace(
    content,
    h(
      "section",
      { class: "panel screen-only", "aria-label": "Report" },
      h(
        "nav",
        { class: "crumbs", "aria-label": "Place" },
        h(
          "ol",
          null,
          h("li", null, h("a", { href: "#/" }, "All machines")),
          h("li", null, machine),
        ),
      ),
      title,
      h(
        "div",
        { class: "controls" },
        h("div", { class: "field wide" }, h("label", { for: days.id }, "Period"), days),
        h("div", { class: "field wide" }, h("label", { for: units.id }, "Units"), units),
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
  const rangeNow = (): Record<string, string> => {
    if (days.value !== "link")
      return { from: new Date(model.gatewayNowMs() - Number(days.value) * DAY_MS).toISOString() };
    const [from, to] = [query.get("from"), query.get("to")];
    return { ...(from !== null && { from }), ...(to !== null && { to }) };
  };
  const reports = new Refresh(
    async (asking) => {
      // The period ends now, by the gateway's clock.
      if (model.status === null) model.takeStatus(await api.status(asking));
      const inUnits = units.value === "kept" ? { ...unitsKept() } : { units: units.value };
      const path = `machines/${encodeURIComponent(id)}/report`;
      const report = await api.get<Report>(path, { ...rangeNow(), ...inUnits }, asking);
      return () => draw(report);
    },
    (error) => void setText(status, `The report could not be made: ${messageOf(error)}`),
  );
  const show = (): void => {
    if (days.value !== "link")
      remember({ days: days.value === "30" ? null : days.value, from: null, to: null });
    setText(status, "Making the report …");
    reports.choose();
  };
  const draw = (report: Report): void => {
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
    // On a phone a graph is wider than the page: the newest comes first.
    for (const graph of place.querySelectorAll(".trend > .scroll"))
      graph.scrollLeft = graph.scrollWidth;
    // Its own heading stands in the page's title.
    setText(title, report.title);
    if (heading !== null) setText(machine, heading.textContent);
    setText(status, "");
  };
  reports.choose();
  return () => {
    reports.stop();
    document.adoptedStyleSheets = [];
  };
}

/** A month of days to choose from; days with measurements are marked. */
import { addDays } from "../core/time/time-zone.ts";
import { h, replace, setText } from "./dom.ts";
import { type Asking, Refresh } from "./refresh.ts";

export interface DayPickerParts {
  /** For the button and for screen readers. */
  readonly label: string;
  /** yyyy-MM-dd of those that have measurements. @param from first day @param to first day after */
  readonly days: (from: string, to: string, asking: Asking) => Promise<readonly string[]>;
  readonly today: () => string;
  /** The day that is shown; null: today. */
  readonly shown?: () => string | null;
  readonly pick: (day: string) => void;
}

const WEEKDAYS = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"];

export function dayPicker({
  label,
  days,
  today,
  shown: shownDay,
  pick,
}: DayPickerParts): HTMLElement {
  const title = h("strong", { "aria-live": "polite" });
  const body = h("tbody");
  /** First day of the month shown. */
  let month = "";
  const close = () => {
    panel.hidden = true;
    button.setAttribute("aria-expanded", "false");
  };
  const show = (first: string) => {
    month = first;
    const shown = new Date(`${first}T00:00:00Z`);
    const words = { month: "long", year: "numeric", timeZone: "UTC" } as const;
    setText(title, shown.toLocaleDateString("en-GB", words));
    draw(new Set());
    marks.choose();
  };
  const marks = new Refresh(
    async (asking) => {
      const found = await days(month, addMonths(month, 1), asking);
      return () => draw(new Set(found));
    },
    // Days can be chosen without their marks.
    () => {},
  );
  const draw = (marked: ReadonlySet<string>) => {
    const weekday = (new Date(`${month}T00:00:00Z`).getUTCDay() + 6) % 7;
    const next = addMonths(month, 1);
    const rows: HTMLElement[] = [];
    for (let at = addDays(month, -weekday); at < next; at = addDays(at, 7)) {
      const week = WEEKDAYS.map((_, i) => addDays(at, i));
      const cell = (day: string) => h("td", null, day >= month && day < next && dayButton(day));
      rows.push(h("tr", null, ...week.map(cell)));
    }
    const focused = body.contains(document.activeElement)
      ? document.activeElement?.textContent
      : null;
    replace(body, ...rows);
    [...body.querySelectorAll("button")]
      .find(({ textContent }) => textContent === focused)
      ?.focus();

    function dayButton(day: string): HTMLElement {
      const isMarked = marked.has(day);
      const name = `${Number(day.slice(8))} ${title.textContent}`;
      return h(
        "button",
        {
          type: "button",
          class: isMarked ? "marked" : null,
          "aria-label": isMarked ? `${name}, has measurements` : name,
          "aria-current": day === today() ? "date" : null,
          click: () => {
            close();
            button.focus();
            pick(day);
          },
        },
        String(Number(day.slice(8))),
      );
    }
  };
  const step = (by: number, text: string, name: string) =>
    h(
      "button",
      { type: "button", "aria-label": name, click: () => show(addMonths(month, by)) },
      text,
    );
  const panel = h(
    "div",
    {
      class: "day-panel",
      hidden: true,
      role: "group",
      "aria-label": label,
    },
    h(
      "div",
      { class: "day-head" },
      step(-12, "«", "A year earlier"),
      step(-1, "‹", "A month earlier"),
      title,
      step(1, "›", "A month later"),
      step(12, "»", "A year later"),
    ),
    h(
      "table",
      null,
      h("thead", null, h("tr", null, ...WEEKDAYS.map((name) => h("th", { scope: "col" }, name)))),
      body,
    ),
  );
  const button = h(
    "button",
    {
      type: "button",
      "aria-expanded": "false",
      click: () => {
        if (!panel.hidden) return close();
        panel.hidden = false;
        button.setAttribute("aria-expanded", "true");
        show(`${(shownDay?.() ?? today()).slice(0, 7)}-01`);
      },
    },
    label,
  );
  // The focus is on the button until a day or another month is gone to.
  const keydown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || panel.hidden) return;
    close();
    button.focus();
  };
  return h("div", { class: "day-picker", keydown }, button, panel);
}

function addMonths(first: string, by: number): string {
  const [year = 0, month = 1] = first.split("-").map(Number);
  return new Date(Date.UTC(year, month - 1 + by, 1)).toISOString().slice(0, 10);
}

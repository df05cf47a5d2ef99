/** Set-up in the browser: name, sensors, machines, alarm rules, uplinks, versions, changes. Loaded when it is first opened. */
import { messageOf } from "../../../core/thrown.ts";
import { refusalText } from "../../../dashboard/agent-access.ts";
import { type Cleanup, h, replace, setText } from "../../../dashboard/dom.ts";
import { placeNow } from "../../../dashboard/place.ts";
import { READ_ONLY } from "../../../dashboard/read-only.ts";
import { Refresh } from "../../../dashboard/refresh.ts";
import type { PageParts } from "../../../dashboard/section.ts";
import { SETUP_PAGES } from "../../../dashboard/setup-pages.ts";
import type { SetupAbout, SetupView } from "../../../dashboard/setup-view.ts";
import { auditView } from "./setup-audit.ts";
import { entryView } from "./setup-entry.ts";
import { homeView } from "./setup-home.ts";
import { LISTS_BY_VIEW, listView } from "./setup-list.ts";
import { versionsView } from "./setup-versions.ts";

const VIEWS = [
  ["", "Start"],
  ["sensors", "Sensors"],
  ["machines", "Machines"],
  ["alarms", "Alarm rules"],
  ["uplinks", "Uplinks"],
  ["versions", "Versions"],
  ["audit", "Changes"],
] as const;
/** Pages below one of them. */
const PARENTS: Readonly<Record<string, string>> = {
  sensor: "sensors",
  machine: "machines",
  alarm: "alarms",
  uplink: "uplinks",
  ...Object.fromEntries(SETUP_PAGES.map(({ subject, parent }) => [subject, parent])),
};

/** The message for the next view. */
let message = "";

export function setupPage({ content: parent, api, model, subject }: PageParts): Cleanup {
  const notice = h("p", { class: "set-notice", role: "status" });
  const place = h("div", { class: "set-place" });
  const here = PARENTS[subject] ?? subject;
  // Where set-up is off, there is nowhere to go.
  const nav = h(
    "nav",
    { class: "set-nav", "aria-label": "Set-up", hidden: true },
    h(
      "ul",
      null,
      ...VIEWS.map(([view, text]) =>
        h(
          "li",
          null,
          h(
            "a",
            {
              href: `#/setup${view === "" ? "" : `/${view}`}`,
              "aria-current": view === here ? "page" : null,
            },
            text,
          ),
        ),
      ),
    ),
  );
  replace(
    parent,
    nav,
    h(
      "section",
      { class: "panel", "aria-labelledby": "setup-title" },
      title(subject),
      notice,
      place,
    ),
  );
  setText(notice, message);
  message = "";
  const leave = (next: string, notice: string): void => {
    // It is saved: nothing asks whether it may be left.
    replace(place);
    go(next, notice);
  };
  const opening = new Refresh(
    async (signal) => {
      await open({ api, model, place, signal, go: leave }, subject, nav);
      return () => {};
    },
    (error) => replace(place, h("p", { class: "fault-text", role: "alert" }, messageOf(error))),
  );
  opening.change();
  return opening.stop;
}

function title(subject: string): HTMLElement {
  const words = VIEWS.find(([view]) => view === subject)?.[1] ?? TITLES[subject] ?? "Set-up";
  return h("h1", { id: "setup-title", tabindex: -1 }, subject === "" ? "Set-up" : words);
}
const TITLES: Readonly<Record<string, string>> = {
  sensor: "Sensor",
  machine: "Machine",
  alarm: "Alarm rule",
  uplink: "Uplink",
  ...Object.fromEntries(SETUP_PAGES.map((page) => [page.subject, page.title])),
};

function go(subject: string, notice: string): void {
  message = notice;
  const hash = `#/setup/${subject}`;
  if (location.hash === hash) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = hash;
}

async function open(
  parts: Omit<SetupView, "about" | "schemas">,
  subject: string,
  nav: HTMLElement,
): Promise<void> {
  const { api, model, place, signal } = parts;
  replace(place, h("p", { class: "hint" }, "Reading …"));
  // Asked only where it is there: the browser reports every refusal in its console.
  const { setup } = model.status ?? (await api.status(signal));
  if (setup !== true) return replace(place, setupOff());
  const [about, schemas] = await Promise.all([
    api.read<SetupAbout>("setup", signal),
    api.read<SetupView["schemas"]>("setup/schemas", signal),
    styles(),
  ]);
  if (signal.aborted) return;
  nav.hidden = false;
  if (about.status !== 200) throw new Error(refusalText(about.body));
  replace(place, ...notes(about.body));
  const own = h("div", { class: "set-own" });
  place.append(own);
  await show({ ...parts, place: own, about: about.body, schemas: schemas.body }, subject);
}

async function show(view: SetupView, subject: string): Promise<void> {
  const key = placeNow().query.get("key");
  const list = LISTS_BY_VIEW[subject];
  if (list !== undefined) return listView(view, subject, list);
  const added = SETUP_PAGES.find((page) => page.subject === subject);
  if (added !== undefined) return (await added.open())(view);
  const parent = PARENTS[subject] ?? "";
  const entries = LISTS_BY_VIEW[parent];
  if (entries !== undefined) return entryView(view, parent, entries, key);
  if (subject === "versions") return versionsView(view);
  if (subject === "audit") return auditView(view);
  return homeView(view);
}

function setupOff(): HTMLElement {
  return h(
    "p",
    { class: "empty" },
    "Set-up is off. Set SETUP_ENABLED=true and restart the agent: ",
    h("a", { href: "manual/setup.html", target: "_blank" }, "how to set up"),
    ".",
  );
}

/** What prevents set-up, before anybody fills in a form. */
function notes({ mayChange, site, uplinks }: SetupAbout): HTMLElement[] {
  const lines = [
    mayChange ? "" : READ_ONLY,
    ...[site, uplinks].map((file) =>
      file === null || file.trouble === null
        ? ""
        : `${file.path} cannot be saved: ${file.trouble}. The file must be in a place where the agent can write; see docs/setup.md.`,
    ),
  ];
  return lines.filter((line) => line !== "").map((line) => h("p", { class: "set-note" }, line));
}

/** Styles of these pages only. */
function styles(): Promise<void> {
  const href = "setup.css";
  if (document.querySelector(`link[href="${href}"]`) !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const link = h("link", {
      rel: "stylesheet",
      href,
      load: () => resolve(),
      error: () => resolve(),
    });
    document.head.append(link);
  });
}

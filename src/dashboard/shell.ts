/** The frame of every view: the header with the live sign, the banner of a page that is not live, the footer. */

import type { AlarmCounts } from "../core/alarm/shown.ts";
import { MINUTE_MS } from "../core/time-units.ts";
import type { Api } from "./api.ts";
import { chapterAddress } from "./chapter.ts";
import { h, oncePerFrame, replace, setAttribute, setText } from "./dom.ts";
import { age } from "./format.ts";
import { keysButton } from "./keys.ts";
import { rewriteTimes, toneIcon, writeTime } from "./marks.ts";
import type { Model } from "./model.ts";
import { placeNow } from "./place.ts";
import { pageOf } from "./place-link.ts";
import type { Theme, ThemeChoice } from "./theme.ts";

const THEMES: readonly (readonly [ThemeChoice, string])[] = [
  ["system", "Auto"],
  ["light", "Light"],
  ["dark", "Dark"],
];

/** Builds the frame and returns the place for the view. */
export function shell(parent: HTMLElement, api: Api, model: Model, theme: Theme): HTMLElement {
  const site = h("span", { class: "site" });
  const liveText = h("span");
  const liveMark = h("span", { class: "mark" });
  const live = h("p", { class: "live", role: "status" }, liveMark, liveText);
  const banner = h("div", {
    class: "banner",
    role: "region",
    "aria-label": "Connection to the agent",
    hidden: true,
  });
  const zone = h("span");
  const clock = h("time", { class: "clock screen-only" });
  // A sheet is read on other days: times without a date on it are of this one.
  const printed = h("time", { class: "paper-only" });
  const about = h("span");
  const times = h(
    "span",
    { class: "times", hidden: true },
    "Times in ",
    zone,
    ", now ",
    clock,
    printed,
    h("span", { class: "screen-only" }, "; UTC on hover"),
  );
  const log = h("a", { href: "#/log", hidden: true }, "Log");
  // In its own tab, so that nothing typed here is lost.
  const manual = h("a", { target: "_blank" }, "Manual");
  const showChapter = () => setAttribute(manual, "href", chapterAddress(pageOf(placeNow())));
  window.addEventListener("hashchange", showChapter);
  showChapter();
  const signOut = h(
    "button",
    {
      type: "button",
      class: "quiet",
      hidden: true,
      click: () => void leave(api),
    },
    "Sign out",
  );
  const alarms = h("a", { class: "alarm-badge", href: "#/alarms", hidden: true });
  const setup = h("a", { class: "setup-link", href: "#/setup", hidden: true }, "Set-up");
  const main = h("main", { id: "content", tabindex: -1 });
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    // The hash names the view; the skip link must not change it.
    event.preventDefault();
    main.focus();
  });
  replace(
    parent,
    h(
      "header",
      { class: "top" },
      h(
        "a",
        { class: "brand", href: "#/", "aria-label": "Gateside, overview" },
        brandMark(),
        "Gateside",
      ),
      site,
      h("div", { class: "top-right" }, alarms, setup, live, themeSwitch(theme), signOut),
    ),
    banner,
    main,
    h(
      "footer",
      null,
      times,
      about,
      h("a", { href: "#/units" }, "Units"),
      log,
      manual,
      keysButton(),
    ),
  );

  const show = (): void => {
    const { status, live: state } = model;
    setAttribute(document.documentElement, "data-live", state.state);
    const isLate = state.state === "late";
    const tone = state.state === "live" ? "ok" : isLate ? "bad" : "off";
    if (setAttributeChanged(live, "data-tone", tone)) replace(liveMark, toneIcon(tone));
    const since = state.lastHeardMs;
    const heard = since === null ? "" : model.times.short(since, model.agentNowMs());
    setText(
      liveText,
      state.state === "live" ? "Live" : isLate ? `Not live since ${heard}` : "Connecting …",
    );
    setAttribute(banner, "hidden", !isLate);
    if (isLate) {
      const ago = since === null ? "" : `${age(model.agentNowMs() - since)} ago`;
      setText(
        banner,
        `No data from the agent since ${heard} (${ago}). Values and states below are from that time and may have changed. Reconnecting …`,
      );
    }
    if (status === null) return;
    showAlarms(alarms, status.alarms);
    setAttribute(setup, "hidden", status.setup !== true);
    times.hidden = false;
    setText(site, status.site);
    document.title = titleOf(isLate, main, status.site);
    setText(zone, model.times.name(model.gatewayNowMs()));
    writeTime(clock, model, model.gatewayNowMs());
    writeTime(printed, model, model.gatewayNowMs(), "full");
    setText(
      about,
      `Gateside ${status.version}, running for ${age(model.agentNowMs() - status.startedAtMs)}`,
    );
    setAttribute(signOut, "hidden", !api.hasSession);
    setAttribute(log, "hidden", !api.mayChange);
  };
  let zoneKnown = "";
  model.subscribe((change) => {
    // Once a minute a time of today may be one of yesterday.
    const key = `${model.times.zone} ${model.isZoneKnown} ${Math.floor(model.gatewayNowMs() / MINUTE_MS)}`;
    if (change !== "status" || key === zoneKnown) return;
    zoneKnown = key;
    rewriteTimes(model);
  });
  model.subscribe(oncePerFrame(show));
  setInterval(show, 1_000);
  show();
  return main;
}

/** Number of alarms that need attention, by severity; absent if alarms are disabled. */
function showAlarms(link: HTMLElement, counts: AlarmCounts | null | undefined): void {
  setAttribute(link, "hidden", counts === null || counts === undefined);
  if (!counts) return;
  const { alarm, warning } = counts;
  const tone = alarm > 0 ? "bad" : warning > 0 ? "warn" : "ok";
  const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const parts = [
    alarm > 0 ? plural(alarm, "alarm") : "",
    warning > 0 ? plural(warning, "warning") : "",
  ].filter((part) => part !== "");
  const text = parts.length === 0 ? "No alarms" : parts.join(", ");
  if (link.dataset["text"] === text) return;
  link.dataset["text"] = text;
  link.dataset["tone"] = tone;
  replace(link, toneIcon(tone), h("span", null, text));
}

/** The title of this view for tabs, bookmarks and screen readers. */
function titleOf(isLate: boolean, main: HTMLElement, site: string): string {
  const view = main.querySelector("h1")?.textContent ?? "";
  const parts = [isLate ? "Not live" : "", view === "Overview" ? "" : view, site, "Gateside"];
  return parts.filter((part) => part !== "").join(" – ");
}

function setAttributeChanged(element: Element, name: string, value: string): boolean {
  if (element.getAttribute(name) === value) return false;
  element.setAttribute(name, value);
  return true;
}

function themeSwitch(theme: Theme): HTMLElement {
  const select = h(
    "select",
    {
      id: "theme",
      change: () => theme.choose(THEMES.find(([value]) => value === select.value)?.[0] ?? "system"),
    },
    ...THEMES.map(([value, text]) => h("option", { value }, text)),
  );
  select.value = theme.choice;
  return h("div", { class: "theme" }, h("label", { for: "theme", class: "sr" }, "Colours"), select);
}

async function leave(api: Api): Promise<void> {
  await api.signOut();
  location.assign("./");
}

function brandMark(): HTMLElement {
  return h("img", { src: "favicon.svg", alt: "", width: 26, height: 26 });
}

/** The frame of every view: the header with its state and the places, the banner of a page that is not live, the footer. */

import { MINUTE_MS } from "../core/time-units.ts";
import type { Api } from "./api.ts";
import { attempt } from "./attempt.ts";
import { h, oncePerFrame, replace, replaceAnew, setAttribute, setText } from "./dom.ts";
import { age } from "./format.ts";
import { boxFaultsOf, type HeaderState, headerState } from "./header-state.ts";
import { keysButton } from "./keys.ts";
import { isGatewayDown, machineNow } from "./machine-now.ts";
import { rewriteTimes, toneIcon, writeTime } from "./marks.ts";
import type { Model } from "./model.ts";
import { navigation } from "./navigation.ts";
import { noResponse } from "./no-response.ts";
import type { Theme, ThemeChoice } from "./theme.ts";

const THEMES: readonly (readonly [ThemeChoice, string])[] = [
  ["system", "as the system"],
  ["light", "light"],
  ["dark", "dark"],
];

/** Builds the frame and returns the place for the view. */
export function shell(parent: HTMLElement, api: Api, model: Model, theme: Theme): HTMLElement {
  const site = h("span", { class: "site" });
  const state = stateSign();
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
  const fault = h("p", { class: "fault-text", role: "alert" });
  const signOut = h(
    "button",
    {
      type: "button",
      class: "quiet",
      hidden: true,
      click: attempt(
        () => leave(api),
        (why) => setText(fault, why === "" ? "" : `Not signed out: ${why}`),
      ),
    },
    "Sign out",
  );
  const places = navigation([signOut, fault]);
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
        h("span", { class: "brand-name" }, "Gateside"),
      ),
      site,
      state.root,
      places.menu,
      places.root,
    ),
    banner,
    main,
    h(
      "footer",
      null,
      times,
      about,
      h(
        "div",
        { class: "choices" },
        themeSwitch(theme),
        h("a", { href: "#/units" }, "Units"),
        keysButton(),
      ),
    ),
  );

  const show = (): void => {
    const { status, live } = model;
    setAttribute(document.documentElement, "data-live", live.state);
    setAttribute(document.documentElement, "data-gateway", isGatewayDown(model) ? "down" : null);
    const isLate = live.state === "late";
    const since = live.lastHeardMs;
    const heard = since === null ? "…" : model.times.short(since, model.agentNowMs());
    const faults = boxFaultsOf(model.faults, model.agentNowMs());
    const conditions = model.machines?.map((machine) => machineNow(model, machine).condition);
    const inputs = { live, heard, status, faults, conditions: conditions ?? null };
    state.show(headerState(inputs));
    setAttribute(banner, "hidden", !isLate);
    if (isLate) {
      const ago = since === null ? "" : ` (${age(model.agentNowMs() - since)} ago)`;
      setText(
        banner,
        `No data from the agent since ${heard}${ago}. Values and states below are from that time and may have changed. Reconnecting …`,
      );
    }
    places.show(api, status !== null);
    if (status === null) return;
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

/** Word, shape and count; a link to what it counts. */
function stateSign(): { readonly root: HTMLElement; show(state: HeaderState): void } {
  const mark = h("span", { class: "mark" });
  const text = h("span");
  const more = h("span", { class: "state-more" });
  const link = h("a", { class: "state-link" }, mark, text, more);
  const root = h("p", { class: "state-sign", role: "status" }, link);
  return {
    root,
    show({ word, tone, text: words, more: rest, href }) {
      setAttribute(link, "data-state", word);
      setAttribute(link, "data-tone", tone);
      setAttribute(link, "href", href);
      replaceAnew(mark, tone, () => [toneIcon(tone)]);
      setText(text, words);
      setText(more, rest);
    },
  };
}

/** The title of this view for tabs, bookmarks and screen readers. */
function titleOf(isLate: boolean, main: HTMLElement, site: string): string {
  const view = main.querySelector("h1")?.textContent ?? "";
  const parts = [isLate ? "Not live" : "", view === "Overview" ? "" : view, site, "Gateside"];
  return parts.filter((part) => part !== "").join(" – ");
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
  return h("div", { class: "theme" }, h("label", { for: "theme" }, "Colours"), select);
}

async function leave(api: Api): Promise<void> {
  await api.signOut().catch((error: unknown) => {
    throw noResponse(error);
  });
  location.assign("./");
}

function brandMark(): HTMLElement {
  return h("img", { src: "favicon.svg", alt: "", width: 26, height: 26 });
}

import { Api } from "./api.ts";
import type { Cleanup } from "./dom.ts";
import { FEATURE_PAGES } from "./feature-pages.ts";
import { Live } from "./live.ts";
import { allLoaded, loadAgain } from "./load-again.ts";
import { MachineFeed } from "./machine-feed.ts";
import { Model } from "./model.ts";
import { overview } from "./overview.ts";
import { placeNow } from "./place.ts";
import { isPage, type LinkedPlace, pageOf } from "./place-link.ts";
import type { PageParts } from "./section.ts";
import { type Filter, noFilter } from "./sensor-filter.ts";
import { shell } from "./shell.ts";
import { Theme } from "./theme.ts";
import { Unsaved } from "./unsaved.ts";

interface OwnPageParts extends PageParts {
  readonly filter: Filter;
  readonly feed: MachineFeed;
}

/** No view has this name. */
const UNKNOWN = "unknown";

/** Everything but the first page is loaded when it is first opened. */
async function opener(place: LinkedPlace): Promise<(parts: OwnPageParts) => Cleanup> {
  const view = pageOf(place);
  const added = FEATURE_PAGES.find(({ at }) => at === view);
  const hasPage = added?.has?.(place.subject) ?? place.subject !== "";
  if (added !== undefined && hasPage) return added.open();
  switch (isPage(place) ? view : UNKNOWN) {
    case "sensor": {
      const { sensorPage } = await import("./sensor-page.ts");
      return ({ content, api, model, theme, subject }) =>
        sensorPage(content, api, model, theme, subject);
    }
    case "alarms": {
      const { alarmsPage } = await import("./alarms-page.ts");
      return ({ content, api, model }) => alarmsPage(content, api, model);
    }
    case "units": {
      const { unitsPage } = await import("./units-page.ts");
      return ({ content }) => unitsPage(content);
    }
    case "log": {
      const { logPage } = await import("./log-page.ts");
      return ({ content, api, model }) => logPage(content, api, model);
    }
    case "machine": {
      const { machinePage } = await import("./machine-page.ts");
      return ({ content, api, model, theme, feed, subject }) =>
        machinePage(content, { api, model, theme, feed }, subject);
    }
    case "sensors": {
      const { sensorsPage } = await import("./sensors-page.ts");
      return ({ content, api, model, filter }) => sensorsPage(content, api, model, filter);
    }
    case "":
      return ({ content, api, model, feed }) => overview(content, api, model, feed);
    default: {
      const { notFoundPage } = await import("./not-found-page.ts");
      return ({ content }) => notFoundPage(content);
    }
  }
}

/** Where to continue after signing in again. */
const RETURN_KEY = "gateside.return";

/** A proxy that redirects the API alone would otherwise have the page loaded again and again. */
const RELOADED_KEY = "gateside.reloaded";
const RELOAD_EVERY_MS = 60_000;
const IDLE_WITHIN_MS = 1_000;

function wasReloadedLately(): boolean {
  const now = Date.now();
  if (Math.abs(now - Number(sessionStorage.getItem(RELOADED_KEY))) < RELOAD_EVERY_MS) return true;
  sessionStorage.setItem(RELOADED_KEY, String(now));
  return false;
}

/** First the page is painted, with what the start has asked for: everything else keeps a slow processor busy for a while. */
function onceIdle(act: () => void): void {
  // Safari has none.
  if ("requestIdleCallback" in window) requestIdleCallback(act, { timeout: IDLE_WITHIN_MS });
  else setTimeout(act);
}

function main(): void {
  const parent = document.getElementById("app");
  if (parent === null) return;
  const theme = new Theme();
  const model = new Model();
  let unsaved: Unsaved | null = null;
  const api = new Api({
    onSignedOut: () => {
      if (unsaved?.keep()) return;
      sessionStorage.setItem(RETURN_KEY, location.hash);
      location.assign("sign-in");
    },
    onSignedIn: () => unsaved?.signedIn(),
    onRedirected: () => {
      if (unsaved?.keep() || wasReloadedLately()) return;
      location.reload();
    },
  });
  const place = sessionStorage.getItem(RETURN_KEY);
  sessionStorage.removeItem(RETURN_KEY);
  if (place !== null && place !== "" && location.hash === "") history.replaceState(null, "", place);

  const content = shell(parent, api, model, theme);
  unsaved = new Unsaved(content);
  // An update has replaced the files of this page: its words may meet answers of another version.
  let version = "";
  model.subscribe((change) => {
    if (change !== "status" || model.status === null) return;
    if (version === "") version = model.status.version;
    if (version !== model.status.version && unsaved?.isFilledIn !== true) location.reload();
  });
  const filter = noFilter();
  const feed = new MachineFeed(api, model);
  let stop: Cleanup | null = null;
  let lastTurn = 0;
  const show = async (isFirst: boolean): Promise<void> => {
    const turn = ++lastTurn;
    const place = placeNow();
    const open = await opener(place).catch((error: unknown) => {
      loadAgain();
      throw error;
    });
    allLoaded();
    if (turn !== lastTurn) return;
    stop?.();
    stop = open({ content, api, model, theme, filter, feed, subject: place.subject });
    if (isFirst) return;
    scrollTo(0, 0);
    // Announces the new view to screen readers.
    content.querySelector("h1")?.focus();
  };
  // The skip link is a hash as well, but not a view.
  window.addEventListener("hashchange", ({ oldURL }) => {
    if (location.hash !== "" && !location.hash.startsWith("#/")) return;
    if (unsaved?.mayLeave() === false) history.replaceState(null, "", oldURL);
    else void show(false);
  });
  void show(true);
  feed.change();
  const live = new Live(api, model);
  onceIdle(() => live.start());
}

main();

import { Api } from "./api.ts";
import type { Cleanup } from "./dom.ts";
import { Live } from "./live.ts";
import { Model } from "./model.ts";
import { overview } from "./overview.ts";
import { noFilter } from "./sensor-filter.ts";
import { shell } from "./shell.ts";
import { Theme } from "./theme.ts";

/** Where to go on after signing in again. */
const RETURN_KEY = "gateside.return";

function main(): void {
  const parent = document.getElementById("app");
  if (parent === null) return;
  const theme = new Theme();
  const model = new Model();
  const api = new Api(() => {
    sessionStorage.setItem(RETURN_KEY, location.hash);
    location.assign("/sign-in");
  });
  const place = sessionStorage.getItem(RETURN_KEY);
  sessionStorage.removeItem(RETURN_KEY);
  if (place !== null && place !== "" && location.hash === "") history.replaceState(null, "", place);

  const content = shell(parent, api, model, theme);
  const filter = noFilter();
  let stop: Cleanup | null = null;
  let asked = 0;
  const show = async (isFirst: boolean): Promise<void> => {
    const turn = ++asked;
    const code = /^#\/sensor\/([^/?]+)/.exec(location.hash)?.[1];
    // The plots are loaded when a sensor is first opened: the first page comes without them.
    const plots = code === undefined ? null : await import("./sensor-page.ts");
    if (turn !== asked) return;
    stop?.();
    stop =
      plots === null || code === undefined
        ? overview(content, api, model, filter)
        : plots.sensorPage(content, api, model, theme, decodeURIComponent(code));
    if (isFirst) return;
    scrollTo(0, 0);
    // A reader of the screen hears where it is now.
    content.querySelector("h1")?.focus();
  };
  // The skip link is a hash as well, but no place of its own.
  window.addEventListener("hashchange", () => {
    if (location.hash === "" || location.hash.startsWith("#/")) void show(false);
  });
  new Live(api, model).start();
  void show(true);
}

main();

/**
 * Loads the page again when a part of it did not arrive: the browser changed its network, the agent was restarted, or an update replaced the
 * files of an open page. The last page stays until the agent answers.
 */
const TIMES_KEY = "gateside.loadedAgain";
const FIRST_WAIT_MS = 1000;
/** An agent whose files are incomplete is not asked for all of them every second. */
const LONGEST_WAIT_MS = 60_000;

let isWaiting = false;

export function loadAgain(): void {
  if (isWaiting) return;
  isWaiting = true;
  const times = Number(sessionStorage.getItem(TIMES_KEY));
  sessionStorage.setItem(TIMES_KEY, String(times + 1));
  const later = (): void => {
    setTimeout(
      () =>
        void fetch("favicon.svg", { cache: "no-store" }).then(
          ({ ok }) => (ok ? location.reload() : later()),
          later,
        ),
      Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** times),
    );
  };
  later();
}

/** A view was opened, so the page is complete; the next loss is waited for from the beginning. */
export function allLoaded(): void {
  sessionStorage.removeItem(TIMES_KEY);
}

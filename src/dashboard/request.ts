/** How a page asks its agent, and what the start asks before the code of the page is there. */

/** A slow request is aborted, so that a dead link is shown as such. */
export const TIMEOUT_MS = 20_000;
/** Below /api/v1: what the first page shows at the top. */
const WORST_MACHINES = "machines?sort=worst";

/** The browser's; tests in Node load this file, too. */
declare const location: { readonly origin: string; readonly pathname: string };

/** Where the page is, as the browser was given it: it makes no request to an address with a name and a password. */
export function withoutLogin(path: string): string {
  return new URL(path, location.origin + location.pathname).href;
}

export function request(path: string, options: RequestInit): Promise<Response> {
  return fetch(withoutLogin(`api/v1/${path}`), {
    credentials: "same-origin",
    headers: { accept: "application/json" },
    ...options,
    redirect: "manual",
  });
}

/** Both scripts of the page have this one object. */
const page = globalThis as { gatesideAsked?: Promise<Response> | undefined };

/** Asks for the worst machines; the first who wants them takes this answer. */
export function askEarly(): void {
  const response = request(WORST_MACHINES, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  // Whoever takes it, hears of its failure.
  response.catch(() => {});
  page.gatesideAsked = response;
}

export function askedEarly(path: string): Promise<Response> | undefined {
  if (path !== WORST_MACHINES) return undefined;
  const { gatesideAsked } = page;
  page.gatesideAsked = undefined;
  return gatesideAsked;
}

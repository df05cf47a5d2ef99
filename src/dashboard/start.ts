/** A script of its own, before the others, for what they cannot do: notice that one of them did not arrive, and ask while they are on their way. */
import { loadAgain } from "./load-again.ts";
import { askEarly } from "./request.ts";

document.addEventListener(
  "error",
  ({ target }) => {
    if (target instanceof HTMLScriptElement || target instanceof HTMLLinkElement) loadAgain();
  },
  // Errors of elements do not bubble.
  true,
);

if (/^(#\/?)?$/.test(location.hash)) askEarly();

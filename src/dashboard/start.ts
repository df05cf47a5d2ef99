/** A script of its own, before the others, since it is there for what they cannot do: notice that one of them did not arrive. */
import { loadAgain } from "./load-again.ts";

document.addEventListener(
  "error",
  ({ target }) => {
    if (target instanceof HTMLScriptElement || target instanceof HTMLLinkElement) loadAgain();
  },
  // Errors of elements do not bubble.
  true,
);

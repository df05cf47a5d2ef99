import { type LinkedPlace, linkTo, parsePlace } from "./place-link.ts";

export function placeNow(): LinkedPlace {
  return parsePlace(location.hash);
}

/** Writes a choice into the link, without a step in the browser's history; null or empty removes it. */
export function remember(members: Readonly<Record<string, string | null>>): void {
  const { view, subject, part, query } = placeNow();
  for (const [name, value] of Object.entries(members)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const link = linkTo(view, subject, Object.fromEntries(query), part);
  if (link !== location.hash) history.replaceState(null, "", link);
}

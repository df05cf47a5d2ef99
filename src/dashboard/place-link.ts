/** The state of the page: `#/view/subject?member=value`. All choices are in the link, so that it shows the same to others. */
export interface LinkedPlace {
  /** Empty for the overview. */
  readonly view: string;
  readonly subject: string;
  /** What of the subject; empty for the subject itself. */
  readonly part: string;
  readonly query: URLSearchParams;
}

/** Which page shows a place: a view, or a part of one. */
export const pageOf = ({ view, part }: LinkedPlace): string =>
  part === "" ? view : `${view}/${part}`;

/** Views without a subject, and those that are about one. */
const ALONE: ReadonlySet<string> = new Set(["", "sensors", "alarms", "units", "log"]);
const ABOUT: ReadonlySet<string> = new Set(["sensor", "machine"]);

/** False for an address that no page of our own answers to. */
export function isPage(place: LinkedPlace): boolean {
  if (place.subject === "") return ALONE.has(pageOf(place));
  return ABOUT.has(pageOf(place));
}

export function parsePlace(hash: string): LinkedPlace {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", subject = "", ...parts] = path.split("/");
  const part = parts.join("/");
  return { view, subject: decoded(subject), part, query: new URLSearchParams(query) };
}

/** A link to a view; empty and null members are left out. */
export function linkTo(
  view: string,
  subject: string,
  members: Readonly<Record<string, string | null>> = {},
  part = "",
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) if (value) query.set(name, value);
  const path = subject === "" ? view : `${view}/${encodeURIComponent(subject)}`;
  const whole = part === "" ? path : `${path}/${part}`;
  return `#/${whole}${query.size === 0 ? "" : `?${query}`}`;
}

/** A link may have been typed: a part that cannot be decoded is used as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Where the page is: `#/view/subject?member=value`. What is chosen on a page lives here, so that a link shows the same to others. */

export interface Place {
  /** Empty for the overview. */
  readonly view: string;
  readonly subject: string;
  readonly query: URLSearchParams;
}

export function parsePlace(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", subject = ""] = path.split("/", 2);
  return { view, subject: decoded(subject), query: new URLSearchParams(query) };
}

/** A link to a place; members that are empty or null are left out. */
export function linkTo(
  view: string,
  subject: string,
  members: Readonly<Record<string, string | null>> = {},
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) if (value) query.set(name, value);
  const path = subject === "" ? view : `${view}/${encodeURIComponent(subject)}`;
  return `#/${path}${query.size === 0 ? "" : `?${query}`}`;
}

/** A link may have been typed: what cannot be decoded is taken as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

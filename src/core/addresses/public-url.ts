/** A URL in the form that may be shown: without user name, password, query and fragment. Throws if it is not a URL. */
export function publicUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}

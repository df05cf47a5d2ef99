/** An address as it may be shown: without user name, password, query and fragment. Throws for what is no address. */
export function publicUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}

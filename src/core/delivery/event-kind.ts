/** The kind under which events are stored and sent; no poll and no query uses it. */
export const EVENT_KIND = "event";

export function isEvent({ kind }: { readonly kind: string }): boolean {
  return kind === EVENT_KIND;
}

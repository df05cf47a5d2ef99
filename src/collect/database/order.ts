/** Order of two keys for `sort`: 0 if they are equal, so that rows of one identity stay in the order of their arrival. */
export function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

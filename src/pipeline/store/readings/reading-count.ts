/** How many readings the store holds; every part that adds or removes some keeps it. */
export interface ReadingCount {
  count: number;
}

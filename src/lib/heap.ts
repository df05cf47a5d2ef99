/** A binary heap: the smallest item by `before` comes first. */
export class Heap<T extends object> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent];
      if (above === undefined || !this.#before(item, above)) break;
      items[at] = above;
      at = parent;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (items.length === 0 || last === undefined) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const one = items[left];
      const other = items[left + 1];
      if (one === undefined) break;
      const isOther = other !== undefined && this.#before(other, one);
      const next = isOther ? other : one;
      if (!this.#before(next, last)) break;
      items[at] = next;
      at = isOther ? left + 1 : left;
    }
    items[at] = last;
    return first;
  }
}

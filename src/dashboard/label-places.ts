/** In pixels of the canvas. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Where the labels of a plot are, so that none lies on another. */
export class LabelPlaces {
  readonly #taken: Box[] = [];

  clear(): void {
    this.#taken.length = 0;
  }

  /** The first of the places that is inside and free; it is taken then. Null: there is none. */
  take(places: readonly Box[], inside: Box): Box | null {
    const free = places.find(
      (place) => contains(inside, place) && !this.#taken.some((other) => overlap(place, other)),
    );
    if (free === undefined) return null;
    this.#taken.push(free);
    return free;
  }
}

function contains(outer: Box, box: Box): boolean {
  return (
    box.left >= outer.left &&
    box.top >= outer.top &&
    box.left + box.width <= outer.left + outer.width &&
    box.top + box.height <= outer.top + outer.height
  );
}

/** Side by side, two would be read as one without a gap. */
function overlap(a: Box, b: Box): boolean {
  const gap = a.height / 4;
  const isBeside = a.left + a.width + gap <= b.left || b.left + b.width + gap <= a.left;
  const isApart = a.top + a.height <= b.top || b.top + b.height <= a.top;
  return !isBeside && !isApart;
}

/** Columns in which the label of a level is tried. */
const COLUMNS = 6;

/**
 * Above the line, below it, then further to the right; last where another line passes through.
 * @param lines heights of all levels
 */
export function placesAtLevel(
  y: number,
  size: Omit<Box, "left" | "top">,
  inside: Box,
  lines: readonly number[] = [],
): Box[] {
  const gap = size.height / 4;
  const tops = [y - size.height - 1, y + 1];
  const places = Array.from(
    { length: COLUMNS },
    (_, column) => inside.left + gap + column * (size.width + gap),
  ).flatMap((left) => tops.map((top) => ({ ...size, left, top })));
  const isStruck = ({ top, height }: Box) => lines.some((at) => at >= top && at <= top + height);
  return [...places.filter((one) => !isStruck(one)), ...places.filter(isStruck)];
}

/** Rows in which the label of a mark is tried. */
const ROWS = 4;

/** Right of the line at the top, then further down. */
export function placesAtMark(x: number, size: Omit<Box, "left" | "top">, inside: Box): Box[] {
  return Array.from({ length: ROWS }, (_, row) => ({
    ...size,
    left: x + size.height / 4,
    top: inside.top + row * size.height,
  }));
}

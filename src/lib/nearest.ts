/** Edits (insert, remove, replace, swap of neighbours) that turn one text into the other. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      row.push(best);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length] ?? 0;
}

/**
 * The known name closest to the given one, ignoring letter case; null if there are no known names. A name that
 * continues the given one counts as nearer: the end is easily left off (MQTT_USER and MQTT_CA are not MQTT_URL).
 */
export function nearest(written: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  const folded = written.toLowerCase();
  for (const name of known) {
    const isContinued = name.toLowerCase().startsWith(folded);
    const distance = editDistance(folded, name.toLowerCase()) * (isContinued ? 0.1 : 1);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * The known name that was probably meant: one that starts with the given text, or one with at most every other letter
 * wrong; otherwise null.
 */
export function likely(written: string, known: readonly string[]): string | null {
  if (written === "") return null;
  const folded = written.toLowerCase();
  const continued = known.filter((name) => name.toLowerCase().startsWith(folded));
  if (continued.length > 0) return nearest(written, continued);
  const closest = nearest(written, known);
  if (closest === null) return null;
  const slips = editDistance(folded, closest.toLowerCase());
  return slips <= Math.max(1, Math.floor(folded.length / 2)) ? closest : null;
}

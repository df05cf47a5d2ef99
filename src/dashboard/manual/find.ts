/** What the manual's search reads: a heading, and the text up to the next one. */
export interface ManualSection {
  /** The page's address beside the others. */
  readonly page: string;
  /** Of the page. */
  readonly title: string;
  readonly anchor: string;
  readonly heading: string;
  readonly text: string;
}

const RESULTS_MAX = 30;
/** A word in a heading says more about a section than many in its text. */
const HEADING_POINTS = 20;
const TITLE_POINTS = 10;
const TEXT_POINTS_MAX = 5;

/** The sections that hold every word of the query, in any case, those that are about them first. */
export function findSections(
  sections: readonly ManualSection[],
  query: string,
): readonly ManualSection[] {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  return sections
    .map((section) => ({ section, points: pointsOf(section, words) }))
    .filter(({ points }) => points > 0)
    .sort((a, b) => b.points - a.points)
    .slice(0, RESULTS_MAX)
    .map(({ section }) => section);
}

/** The part of a section's text around the first word that is found; its beginning if only the heading has one. */
export function excerptOf({ text }: ManualSection, query: string, lengthMax = 200): string {
  const lower = text.toLowerCase();
  const places = wordsOf(query)
    .map((word) => lower.indexOf(word))
    .filter((at) => at >= 0);
  const at = places.length === 0 ? 0 : Math.min(...places);
  const from = at < lengthMax / 2 ? 0 : text.indexOf(" ", at - lengthMax / 2) + 1;
  const part = text.slice(from, from + lengthMax).trim();
  return `${from > 0 ? "… " : ""}${part}${from + lengthMax < text.length ? " …" : ""}`;
}

function wordsOf(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

/** 0 if a word is missing. */
function pointsOf({ title, heading, text }: ManualSection, words: readonly string[]): number {
  const lower = {
    title: title.toLowerCase(),
    heading: heading.toLowerCase(),
    text: text.toLowerCase(),
  };
  let sum = 0;
  for (const word of words) {
    const points =
      (lower.heading.includes(word) ? HEADING_POINTS : 0) +
      (lower.title.includes(word) ? TITLE_POINTS : 0) +
      Math.min(lower.text.split(word).length - 1, TEXT_POINTS_MAX);
    if (points === 0) return 0;
    sum += points;
  }
  return sum;
}

/** Sensors named in one note; a hundred would hide the message. */
const NAMED_MAX = 8;

/** Notes `subject: what` with the same message for several subjects are joined, in the order of their first. */
export function joinNotes(notes: readonly string[]): string[] {
  const subjectsOf = new Map<string, string[]>();
  for (const note of notes) {
    const [, subject = "", what = note] = /^(.+?): (.+)$/.exec(note) ?? [];
    const subjects = subjectsOf.get(what);
    if (subjects === undefined) subjectsOf.set(what, [subject]);
    else subjects.push(subject);
  }
  return Array.from(subjectsOf, ([what, subjects]) => {
    const more = subjects.length - NAMED_MAX;
    const named = subjects.slice(0, NAMED_MAX).join(", ");
    return subjects[0] === "" ? what : `${named}${more > 0 ? ` and ${more} more` : ""}: ${what}`;
  });
}

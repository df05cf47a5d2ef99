/** An instant as sentences of the API have it, and hardly a note of a person. */
const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

/** A sentence with its instants as people read them there: in the gateway's zone. */
export function withTimes(text: string, at: (ms: number) => string): string {
  return text.replace(INSTANT, (instant) => at(Date.parse(instant)));
}

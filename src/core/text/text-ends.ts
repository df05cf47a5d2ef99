/** Without this character at its end. An expression such as `/\/+$/` would look at each run of them once for each of its letters. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}

/** Without the slashes around it. */
export function withoutSlashes(text: string): string {
  let start = 0;
  while (text[start] === "/") start += 1;
  return withoutTrailing(text.slice(start), "/");
}

/** Fields of CSV lines (RFC 4180). */

/** What spreadsheets read as the beginning of a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** A text that a spreadsheet would run as a formula gets an apostrophe in front; a number never does. Null is empty. */
export function csvField(
  value: string | number | boolean | null | undefined,
  separator = ",",
): string {
  if (typeof value === "number") return String(value);
  const text = String(value ?? "");
  const safe = FORMULA.test(text) ? `'${text}` : text;
  const isPlain = !/["\r\n]/.test(safe) && !safe.includes(separator);
  return isPlain ? safe : `"${safe.replaceAll('"', '""')}"`;
}

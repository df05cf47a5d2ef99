/** Texts from elsewhere in one line: a line break or a terminal code must not leave its place. */
export const inLine = (text: string): string => text.replace(/\p{Cc}+/gu, " ");

/** Rows of texts as aligned columns; the last column is not padded. */
export function table(given: readonly (readonly string[])[], indent = "  "): string {
  const rows = given.map((row) => row.map(inLine));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  return rows
    .map((row) => {
      const cells = row.map((cell, i) =>
        i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0),
      );
      return `${indent}${cells.join("  ").trimEnd()}\n`;
    })
    .join("");
}

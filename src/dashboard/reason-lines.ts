/** Why faults could not be determined, for people: each reason once, after the faults that it concerns. */

import type { Cannot } from "../core/diagnosis/finding.ts";
import { capital } from "../core/text/capital.ts";

export function reasonLines(cannot: readonly Cannot[]): readonly string[] {
  const faults = new Map<string, string[]>();
  for (const { finding, text } of cannot) {
    const names = faults.get(text) ?? [];
    if (finding !== null) names.push(finding.replaceAll("_", " "));
    faults.set(text, names);
  }
  return [...faults].map(([text, names]) =>
    names.length === 0 ? text : `${capital([...new Set(names)].join(", "))}: ${text}`,
  );
}

/** One attack and its result. */
export interface Row {
  readonly input: string;
  readonly outcome: string;
  readonly peakMb: number | null;
  readonly holdMs: number | null;
  readonly isWell: boolean;
}

export function rowText({ input, outcome, peakMb, holdMs, isWell }: Row): string {
  const number = (value: number | null) => (value === null ? "–" : Math.round(value).toString());
  return `| ${input} | ${outcome} | ${number(peakMb)} | ${number(holdMs)} |${isWell ? "" : " **exceeds its limit**"}`;
}

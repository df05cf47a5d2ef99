/** Input of a plot. */
import type { ContactSpan } from "../core/drawing/contact-spans.ts";

export interface ChartSeries {
  readonly label: string;
  /** Name of a colour of the style sheet, such as series-1. */
  readonly colour: string;
  readonly values: readonly (number | null | undefined)[];
  /** Lowest and highest around each value, drawn as a band. */
  readonly low?: readonly (number | null | undefined)[];
  readonly high?: readonly (number | null | undefined)[];
  readonly look?: "line" | "steps" | "points" | "none";
  readonly dash?: readonly number[];
}
export interface ChartMark {
  readonly x: number;
  readonly label: string;
  readonly colour: string;
}
export interface ChartLevel {
  readonly y: number;
  readonly label: string;
  readonly colour: string;
}
/** An area of usual values; null is unlimited on that side. */
export interface ChartBand {
  readonly low: number | null;
  readonly high: number | null;
  readonly label: string;
  readonly colour: string;
}
/** The states of one contact over time, drawn as a bar. */
export interface ChartLane {
  readonly label: string;
  readonly spans: readonly ContactSpan[];
}
export interface ChartCursor {
  readonly marks: readonly ChartMark[];
  readonly words: string;
}
export interface ChartSpec {
  /** Ascending: s since 1970 for times, else in the unit of `xLabel`. */
  readonly x: readonly number[];
  readonly xLabel: string;
  /** How much of x is 1 Hz, where the axis may show other units of the same. */
  readonly xPerUnit?: number;
  readonly yLabel: string;
  /** In heads of files, where those say it otherwise. */
  readonly fileLabel?: string;
  /** IANA zone of a time axis; null for plain numbers. */
  readonly zone: string | null;
  readonly series: readonly ChartSeries[];
  readonly marks?: readonly ChartMark[];
  readonly levels?: readonly ChartLevel[];
  readonly bands?: readonly ChartBand[];
  /** Instead of lines: one bar each, from the top down. */
  readonly lanes?: readonly ChartLane[];
  /** Text for a position of the cursor; `held` is the previously pinned position. */
  readonly cursor?: (at: number, held: number | null) => ChartCursor;
  /** Pinned from the start. */
  readonly held?: number | null;
  readonly range?: readonly [number, number];
  /** Part that is shown first; "show all" shows more. */
  readonly view?: readonly [number, number];
  readonly fromZero?: boolean;
  readonly isLog?: boolean;
  /** Name of an exported file. */
  readonly file?: string;
  /** What the plot shows, in a sentence. */
  readonly summary: string;
  /** Text for the point under the cursor. */
  readonly readout: (index: number) => string;
}

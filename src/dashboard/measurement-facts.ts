import { number } from "./format.ts";
import type { SpectrumSeries, WaveformSeries } from "./series.ts";
import { doubtWords } from "./words.ts";

/** Purpose of the record, as numbered by the service. */
const REASON_WORDS: Readonly<Record<number, string>> = {
  1: "on request",
  2: "on schedule",
  3: "on alarm",
};

/** What is said of a measurement above its graphs. */
export function measurementFacts(
  wave: WaveformSeries,
  spectrum: SpectrumSeries,
  name: string,
  selected: { readonly running: boolean | null } | null,
): string {
  const doubt = wave.doubt ?? spectrum.doubt;
  const reason = wave.recordingReason === null ? undefined : REASON_WORDS[wave.recordingReason];
  const facts = [
    `${wave.samples} samples at ${wave.sampleRateHz} Hz, ${number(wave.samples / wave.sampleRateHz)} s`,
    reason === undefined ? "" : `recorded ${reason}`,
    // On paper nothing else says of when it is.
    name,
    selected?.running === false ? "the machine stood" : "",
    doubt === null ? "" : doubtWords(doubt, "accel"),
  ];
  return facts.filter((fact) => fact !== "").join(" · ");
}

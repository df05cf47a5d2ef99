/** Hourly and daily values as CSV or JSON lines. */

import type { HourPoint, HourValues, StreamRange } from "../core/query/ports.ts";
import type { SeriesSum } from "../core/query/series-sum.ts";
import { csvField as cell } from "../core/text/csv.ts";
import { type Flags, UsageError } from "./command.ts";

const CSV_HEADER = "time,sensor,kind,value_name,unit,count,min,mean,max,uncertain,bad\n";

type HoursRange = Pick<StreamRange, "fromMs" | "toMs">;
type ExportedStream = Pick<StreamRange, "sensor" | "kind">;

/** Null for readings. Throws UsageError. */
export function spanFlag(flags: Flags): "hours" | "days" | null {
  const span = flags.choice("resolution", ["readings", "hours", "days"]) ?? "readings";
  if (span === "readings") return null;
  const other = ["waveforms", "db", "excel"].find((name) => flags.has(name));
  if (other !== undefined) throw new UsageError(`--resolution ${span} goes without --${other}`);
  if (!["csv", "jsonl"].includes(flags.text("format") ?? "csv"))
    throw new UsageError(`--resolution ${span} requires --format csv or jsonl`);
  return span;
}

/** A text for each point of a value, sensor by sensor, in order of time; the head of a CSV first. */
export function* hourLines(
  hours: Pick<HourValues, "points">,
  streams: readonly ExportedStream[],
  range: HoursRange,
  { span, isCsv }: { readonly span: "hours" | "days"; readonly isCsv: boolean },
): Generator<string> {
  if (isCsv) yield CSV_HEADER;
  for (const stream of streams) {
    for (const point of hours.points({ ...range, ...stream, span, values: null })) {
      for (const sum of point.series)
        yield isCsv ? csvLine(stream, point, sum) : jsonLine(stream, point, sum);
    }
  }
}

const timeOf = ({ startMs }: HourPoint) => new Date(startMs).toISOString();

function csvLine({ sensor, kind }: ExportedStream, point: HourPoint, sum: SeriesSum): string {
  const { value, unit, count, uncertain, bad } = sum;
  const numbers = count === 0 ? ",," : `${sum.min},${sum.mean},${sum.max}`;
  return `${timeOf(point)},${cell(sensor)},${kind},${cell(value)},${cell(unit)},${count},${numbers},${uncertain},${bad}\n`;
}

function jsonLine(stream: ExportedStream, point: HourPoint, sum: SeriesSum): string {
  const { value, unit, count, uncertain, bad } = sum;
  const [min, mean, max] = count === 0 ? [null, null, null] : [sum.min, sum.mean, sum.max];
  const { sensor, kind } = stream;
  return `${JSON.stringify({ time: timeOf(point), sensor, kind, value, unit, count, min, mean, max, uncertain, bad })}\n`;
}

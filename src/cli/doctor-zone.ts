import type { Reading } from "../core/reading.ts";
import { zoneOffsetMs } from "../core/time/time-zone.ts";
import { MINUTE_MS } from "../core/time-units.ts";
import { offsetText } from "../pipeline/convert/to-reading.ts";
import type { Finding } from "./finding.ts";

/** Codes in one line. */
const NAMED_MAX = 5;

export type DatedReading = Pick<Reading, "sensor" | "timeMs" | "offsetMinutes">;

/**
 * Compares the zone of the gateway's days with the offsets in its records. The offset is set by the writer, so a single
 * sensor that differs may itself be wrong; if none agrees, the setting is.
 */
export function checkZone(
  zone: string,
  readings: readonly DatedReading[],
  found: (finding: Finding) => void,
): void {
  const what = "zone";
  const dated = readings.filter(({ offsetMinutes }) => offsetMinutes !== null);
  // Records without an offset prove nothing about the zone.
  const [first] = dated;
  if (first === undefined) return;
  const ours = ({ timeMs }: DatedReading) => Math.round(zoneOffsetMs(timeMs, zone) / MINUTE_MS);
  const others = dated.filter((reading) => reading.offsetMinutes !== ours(reading));
  const [other] = others;
  if (other === undefined) {
    const detail = `${zone} is UTC${offsetText(ours(first))}, which agrees with the records of ${count(dated.length)}`;
    found({ what, state: "ok", detail });
    return;
  }
  const codes = [...new Set(others.map(({ sensor }) => sensor))];
  const named = codes.slice(0, NAMED_MAX).join(", ") + (codes.length > NAMED_MAX ? ", …" : "");
  const detail = `GATEWAY_TIMEZONE ${zone} is UTC${offsetText(ours(other))} at that time, but records of ${named} have UTC${offsetText(other.offsetMinutes)}`;
  found(
    others.length === dated.length
      ? {
          what,
          state: "failed",
          detail: `${detail}: readings around midnight are requested for the wrong day; set GATEWAY_TIMEZONE to the zone of the gateway's own clock`,
        }
      : {
          what,
          state: "warning",
          detail: `${detail}; records of ${count(dated.length - others.length)} agree with GATEWAY_TIMEZONE. Check the time zone of ${named}`,
        },
  );
}

const count = (n: number) => `${n} sensor${n === 1 ? "" : "s"}`;

/** Time zone names that are accepted but mean something else than most people expect. */

import { zoneOffsetMs } from "../core/time/time-zone.ts";

const MINUTES_PER_HOUR = 60;
const MS_PER_MINUTE = 60_000;
/** An instant of northern winter and one of summer: if they differ, the zone has daylight-saving time. */
const WINTER_MS = Date.UTC(2026, 0, 15);
const SUMMER_MS = Date.UTC(2026, 6, 15);
/** Unambiguous short names: UTC itself, European zones with their summer time, and countries. */
const PLAIN = new Set(["UTC", "UCT", "CET", "EET", "MET", "WET", "PRC", "ROC", "ROK"]);

/** The meaning of an abbreviation, or of a name with inverted sign; null if the name is clear. */
export function zoneDoubt(
  name: string,
  system: string,
): { problem: string; remedy: string } | null {
  const upper = name.toUpperCase();
  if (/^ETC\/GMT[+-]\d+$/.test(upper)) {
    return {
      problem: `${name} is ${offsetsOf(name)}: the sign of Etc/GMT names is inverted`,
      remedy: `if that is not what you mean, use ${name.replace(/[+-]/, (sign) => (sign === "+" ? "-" : "+"))}, or a place such as Europe/Berlin`,
    };
  }
  if (upper === "GMT") {
    return {
      problem: `${name} has no summer time: ${offsetsOf(name)}`,
      remedy: "if the gateway's clock follows British summer time, use Europe/London",
    };
  }
  if (!/^[A-Z]{3,4}$/.test(upper) || PLAIN.has(upper)) return null;
  const others = MEANINGS[upper];
  const place = system === name ? "" : `${system}, `;
  return {
    problem: `${name} is taken as ${place}${offsetsOf(name)}${others === undefined ? "" : `; it may also stand for ${others}`}`,
    remedy: "use the intended place, such as Asia/Shanghai or America/Chicago",
  };
}

/** Other zones with the same abbreviation. */
const MEANINGS: Readonly<Record<string, string>> = {
  CST: "China (Asia/Shanghai) or Cuba (America/Havana)",
  BST: "British Summer Time (Europe/London)",
  IST: "Israel (Asia/Jerusalem) or Ireland (Europe/Dublin)",
  EST: "US Eastern Time with its summer time (America/New_York)",
  MST: "US Mountain Time with its summer time (America/Denver) or Malaysia (Asia/Kuala_Lumpur)",
  PST: "the Philippines (Asia/Manila)",
  AST: "the Atlantic (America/Halifax) or Arabia (Asia/Riyadh)",
  SST: "Samoa (Pacific/Pago_Pago) or Singapore (Asia/Singapore)",
  ACT: "Acre (America/Rio_Branco) or the Australian capital (Australia/Sydney)",
  ECT: "Ecuador (America/Guayaquil)",
  HST: "Hawaii with no summer time (Pacific/Honolulu)",
};

function offsetsOf(zone: string): string {
  const winter = offsetAt(zone, WINTER_MS);
  const summer = offsetAt(zone, SUMMER_MS);
  return winter === summer
    ? `UTC${winter} all year`
    : `UTC${winter} in January and UTC${summer} in July`;
}

/** As +hh:mm or -hh:mm. */
function offsetAt(zone: string, ms: number): string {
  const minutes = Math.round(zoneOffsetMs(ms, zone) / MS_PER_MINUTE);
  const digits = (n: number) => String(n).padStart(2, "0");
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${digits(Math.floor(size / MINUTES_PER_HOUR))}:${digits(size % MINUTES_PER_HOUR)}`;
}

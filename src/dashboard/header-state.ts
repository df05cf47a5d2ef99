/** The one state of the header: the worst there is, with what it counts and where that is shown. */
import type { ShownStatus } from "../core/agent-status.ts";
import type { Fault } from "../core/query/fault.ts";
import type { LiveState } from "./model.ts";

type HeaderWord =
  | "connecting"
  | "not live"
  | "alarm"
  | "fault"
  | "warning"
  | "unknown"
  | "watch"
  | "ok";

export interface HeaderState {
  readonly word: HeaderWord;
  readonly tone: "ok" | "warn" | "bad" | "off";
  readonly text: string;
  /** Shown where there is room. */
  readonly more: string;
  /** What it counts; null where it counts nothing. */
  readonly href: string | null;
}

export interface HeaderInput {
  readonly live: LiveState;
  /** When the page heard last, as text. */
  readonly heard: string;
  readonly status: Pick<ShownStatus, "alarms" | "activeAlarms"> | null;
  /** Of the box, its uplinks and the gateway. */
  readonly faults: readonly Fault[];
  /** Conditions of the machines as the page shows them; null before they are known. */
  readonly conditions: readonly string[] | null;
}

const ATTENTION = "#/?at=attention";
const alarmsLink = (severity: string) => `#/alarms?severity=${severity}`;

export function headerState(input: HeaderInput): HeaderState {
  const { live, heard, status, faults, conditions } = input;
  if (live.state === "late") return state("not live", "bad", `Not live since ${heard}`);
  if (live.state === "never" || status === null) return state("connecting", "off", "Connecting …");
  const machinesIn = (word: string) =>
    (conditions ?? []).filter((condition) => condition === word).length;
  const { activeAlarms, alarms: unacknowledged } = status;
  for (const severity of ["alarm", "warning"] as const) {
    const count = activeAlarms?.[severity] ?? machinesIn(severity);
    const fresh = unacknowledged?.[severity] ?? count;
    if (severity === "warning" && faults.length > 0)
      return state("fault", "bad", plural(faults.length, "fault"), ATTENTION);
    if (count === 0) continue;
    const more = fresh === 0 ? ", acknowledged" : fresh < count ? `, ${fresh} unacknowledged` : "";
    const tone = severity === "alarm" ? "bad" : "warn";
    const href = activeAlarms === null ? "#/" : alarmsLink(severity);
    return { ...state(severity, tone, plural(count, severity), href), more };
  }
  const unknown = machinesIn("unknown");
  if (unknown > 0) return state("unknown", "off", `${unknown} unknown`, "#/");
  const watch = machinesIn("watch");
  if (watch > 0) return state("watch", "warn", `${watch} to watch`, "#/");
  if (conditions === null) return state("connecting", "off", "Connecting …");
  return state("ok", "ok", "OK");
}

function state(
  word: HeaderWord,
  tone: HeaderState["tone"],
  text: string,
  href: string | null = null,
): HeaderState {
  return { word, tone, text, more: "", href };
}

const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** An uplink without a session for a moment is none. */
const UPLINK_GRACE_MS = 30_000;
/** Those of sensors stand on their machines and pages; the others wait for somebody who changes the configuration. */
const NOT_OF_BOX = new Set([
  "sensor_silent",
  "battery_low",
  "read_failing",
  "no_sensors",
  "restart_pending",
  "reload_pending",
]);

/** Faults of the box, its uplinks and the gateway. */
export function boxFaultsOf(faults: readonly Fault[], nowMs: number): readonly Fault[] {
  return faults.filter(
    ({ code, sinceMs }) =>
      !NOT_OF_BOX.has(code) &&
      (code !== "broker_down" || sinceMs === null || nowMs - sinceMs > UPLINK_GRACE_MS),
  );
}

/** What happens to the outbox's lanes when uplinks and formats change. Pure: also predicts the effect of a change. */

import { MAIN_UPLINK, type Uplink } from "../uplink.ts";
import { LANES, type Lane } from "./delivery.ts";

export interface KnownLane {
  readonly uplink: string;
  readonly lane: Lane;
  /** Pending readings. */
  readonly readings: number;
}

export interface WantedLanes {
  readonly name: string;
  readonly lanes: readonly Lane[];
  readonly startFrom: "stored" | "now";
}

interface LaneDifference {
  readonly uplink: string;
  readonly lane: Lane;
}
/**
 * added: starts with everything stored (a new uplink that wants it), otherwise with new readings · carried: what was
 * pending in an old format is pending in the new one; `newest`: only the newest of each sensor and kind, which is all
 * that plain holds · format_off and uplink_removed: pending readings are dropped.
 */
export type LaneChange =
  | (LaneDifference & { readonly what: "added"; readonly from: "stored" | "now" })
  | (LaneDifference & {
      readonly what: "carried";
      readonly to: Lane;
      readonly readings: number;
      readonly isNewestOnly: boolean;
    })
  | (LaneDifference & {
      readonly what: "format_off" | "uplink_removed";
      readonly readings: number;
    });

/** The lanes of an uplink, by priority. */
export function lanesOf({ formats, waveforms }: Pick<Uplink, "formats" | "waveforms">): Lane[] {
  const lanes: Lane[] = [...formats];
  if (waveforms === "never") return lanes;
  if (formats.includes("json")) lanes.push("waveform");
  if (formats.includes("sparkplug")) lanes.push("sparkplugWaveform");
  return lanes;
}

/** Name of a lane among those of all uplinks: those of `main` as in 0.1. */
export function laneName(uplink: string, lane: Lane): string {
  return uplink === MAIN_UPLINK ? lane : `${uplink}/${lane}`;
}

/** The parts of such a name; null for any other text. */
export function parseLaneName(
  name: string,
): { readonly uplink: string; readonly lane: Lane } | null {
  const slash = name.lastIndexOf("/");
  const lane = LANES.find((one) => one === name.slice(slash + 1));
  if (lane === undefined) return null;
  return { uplink: slash < 0 ? MAIN_UPLINK : name.slice(0, slash), lane };
}

/** Lanes that hold whole backlogs of the same content, and can take over from each other. */
const CARRIERS: readonly (readonly Lane[])[] = [
  ["json", "sparkplug"],
  ["waveform", "sparkplugWaveform"],
];

export function planLanes(
  known: readonly KnownLane[],
  wanted: readonly WantedLanes[],
): readonly LaneChange[] {
  const changes: LaneChange[] = [];
  for (const { uplink, lane, readings } of known) {
    if (!wanted.some(({ name }) => name === uplink))
      changes.push({ what: "uplink_removed", uplink, lane, readings });
  }
  for (const { name, lanes, startFrom } of wanted) {
    const had = known.filter(({ uplink }) => uplink === name);
    const added = new Set(lanes.filter((lane) => !had.some((one) => one.lane === lane)));
    const heirs = new Set<Lane>();
    for (const { lane, readings } of had) {
      if (lanes.includes(lane)) continue;
      const to = heirOf(lane, added, had);
      if (to === null) {
        changes.push({ what: "format_off", uplink: name, lane, readings });
        continue;
      }
      const isNewestOnly = to === "plain";
      // Two backlogs may leave their newest to plain.
      if (isNewestOnly) heirs.add(to);
      else added.delete(to);
      changes.push({ what: "carried", uplink: name, lane, to, readings, isNewestOnly });
    }
    const from = had.length === 0 ? startFrom : "now";
    for (const lane of added)
      if (!heirs.has(lane)) changes.push({ what: "added", uplink: name, lane, from });
  }
  return changes;
}

function heirOf(lane: Lane, added: ReadonlySet<Lane>, had: readonly KnownLane[]): Lane | null {
  if (lane === "plain") {
    // A lane with a whole backlog comes first; the content of plain is part of it.
    const isTaken = had.some((one) => one.lane === "json" || one.lane === "sparkplug");
    return isTaken
      ? null
      : ((["json", "sparkplug"] as const).find((one) => added.has(one)) ?? null);
  }
  const peers = CARRIERS.find((group) => group.includes(lane)) ?? [];
  const heir = peers.find((one) => added.has(one));
  if (heir !== undefined) return heir;
  return (lane === "json" || lane === "sparkplug") && added.has("plain") ? "plain" : null;
}

/** A change in words, for check and the log. */
export function laneChangeText(change: LaneChange): string {
  const of = `uplink ${change.uplink}, ${change.lane}`;
  const many = (count: number) =>
    `${count} undelivered ${isWaveform(change.lane) ? "measurements" : "readings"}`;
  switch (change.what) {
    case "added":
      return change.from === "stored"
        ? `${of}: starts with all stored readings`
        : `${of}: starts with its first new reading`;
    case "carried":
      return change.isNewestOnly
        ? `${of}: off; of ${many(change.readings)}, the newest of each sensor and kind move to plain, and the rest are dropped (format_off)`
        : `${of}: off; ${many(change.readings)} move to ${change.to}`;
    case "format_off":
      return `${of}: off; ${many(change.readings)} are dropped (format_off)`;
    case "uplink_removed":
      return `${of}: removed; ${many(change.readings)} are dropped (uplink_removed)`;
  }
}

export function isWaveform(lane: Lane): boolean {
  return lane === "waveform" || lane === "sparkplugWaveform";
}

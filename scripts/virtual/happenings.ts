/** What can happen to the world of a seed, and the drawing of one such thing. */
import type { FaultSpec } from "../../src/simulator/faults.ts";
import { ALTERING, BOX_STEPS_S, CLOCK_STEPS_MS, PASSING } from "../chaos/events.ts";
import type { SeededRandom } from "../chaos/random.ts";
import type { SiteChange } from "../chaos/site-file.ts";
import type { CutPlace } from "./broker.ts";
import type { DiskFault } from "./disk.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

/** `platform` has one of the profiles for IoT platforms. */
export type UplinkName = "main" | "cloud" | "scada" | "platform";
/**
 * Where a process is killed: at the n-th commit, after one that wrote how far a day was read but none of its readings, or when
 * the broker gets the n-th PUBLISH from now on, or when the n-th file is put in its place.
 */
export type KillPlace =
  | "now"
  | "before commit"
  | "after commit"
  | "after progress"
  | "before publish"
  | "after publish"
  | "before rename"
  | "after rename";

export type Happening =
  | {
      readonly name: "agent killed";
      readonly at: KillPlace;
      readonly n: number;
      readonly forMs: number;
    }
  | { readonly name: "agent stopped"; readonly forMs: number }
  | { readonly name: "gateway fault"; readonly fault: FaultSpec }
  | { readonly name: "odd records"; readonly fault: FaultSpec }
  | { readonly name: "gateway away"; readonly how: "shut" | "silent"; readonly forMs: number }
  | { readonly name: "gateway clock set"; readonly offsetMs: number; readonly forMs: number }
  | { readonly name: "box clock set"; readonly offsetMs: number }
  | {
      readonly name: "link cut";
      readonly uplink: UplinkName;
      readonly at: CutPlace;
      readonly n: number;
    }
  | {
      readonly name: "broker away";
      readonly uplink: UplinkName;
      readonly how: "shut" | "silent";
      readonly forMs: number;
    }
  | { readonly name: "broker refusing"; readonly uplink: UplinkName; readonly forMs: number }
  | {
      readonly name: "broker slow";
      readonly uplink: UplinkName;
      readonly delayMs: number;
      readonly forMs: number;
    }
  | { readonly name: "broker forgetful"; readonly uplink: UplinkName }
  | { readonly name: "disk fault"; readonly what: DiskFault; readonly forMs: number }
  | { readonly name: "host offline"; readonly isAbrupt: boolean; readonly forMs: number }
  | {
      readonly name: "site file changed";
      readonly changes: readonly SiteChange[];
      readonly draw: number;
    }
  | { readonly name: "uplinks changed" }
  | {
      readonly name: "command sent";
      readonly sensor: string;
      readonly number: number;
      /** The same message again, this often. */
      readonly repeats: number;
      readonly everyMs: number;
    }
  | {
      readonly name: "document sent";
      readonly change: SiteChange;
      /** Signed by another key, for another site, or with a sensor that the gateway does not have. */
      readonly damage: "unsigned" | "elsewhere" | "unread" | null;
      readonly draw: number;
    };
export type HappeningName = Happening["name"];

/** How often each happens, relative to the others. */
export const WEIGHTS: Readonly<Record<HappeningName, number>> = {
  "agent killed": 7,
  "agent stopped": 1,
  "gateway fault": 6,
  "odd records": 2,
  "gateway away": 2,
  "gateway clock set": 2,
  "box clock set": 2,
  "link cut": 5,
  "broker away": 3,
  "broker refusing": 2,
  "broker slow": 2,
  "broker forgetful": 2,
  "disk fault": 3,
  "host offline": 1,
  "site file changed": 2,
  "uplinks changed": 1,
  "command sent": 2,
  // Drawn apart, see draw.ts.
  "document sent": 0,
};
export const HAPPENINGS = Object.keys(WEIGHTS) as readonly HappeningName[];

export const SITE_CHANGES = ["added", "removed", "renamed", "re-typed", "clamp", "class"] as const;

export function drawHappening(
  random: SeededRandom,
  name: HappeningName,
  codes: readonly string[],
  uplinks: readonly UplinkName[],
): Happening {
  const forMs = random.pick([
    random.between(1000, MINUTE_MS),
    random.between(MINUTE_MS, 30 * MINUTE_MS),
  ]);
  const uplink = random.pick(uplinks);
  const n = random.between(1, 12);
  switch (name) {
    case "agent killed": {
      const places = [
        "now",
        "before commit",
        "after commit",
        "after progress",
        "after progress",
        "before publish",
        "after publish",
      ] as const;
      return { name, at: random.pick(places), n, forMs };
    }
    case "agent stopped":
    case "broker refusing":
      return name === "agent stopped" ? { name, forMs } : { name, uplink, forMs };
    case "gateway fault": {
      const where = random.next() < 0.5 ? {} : { sensor: random.pick(codes) };
      return {
        name,
        fault: {
          name: random.pick(PASSING),
          ...where,
          probability: random.pick([0.3, 1, 1]),
          forMs,
        },
      };
    }
    case "odd records": {
      const fraction = random.pick([0.01, 0.05, 0.2]);
      return { name, fault: { name: random.pick(ALTERING), sensor: random.pick(codes), fraction } };
    }
    case "gateway away":
      return { name, how: random.pick(["shut", "silent"] as const), forMs };
    case "gateway clock set":
      return { name, offsetMs: random.pick(CLOCK_STEPS_MS), forMs };
    case "box clock set":
      return { name, offsetMs: random.pick(BOX_STEPS_S) * 1000 };
    case "link cut":
      return { name, uplink, at: random.pick(["before", "accepted", "acknowledged"] as const), n };
    case "broker away":
      return { name, uplink, how: random.pick(["shut", "silent"] as const), forMs };
    case "broker slow":
      return { name, uplink, delayMs: random.pick([200, 3000, 40_000]), forMs };
    case "broker forgetful":
      return { name, uplink };
    case "disk fault":
      return {
        name,
        what: random.pick(["full", "read only", "write error", "sync error"] as const),
        forMs,
      };
    case "host offline":
      return { name, isAbrupt: random.next() < 0.5, forMs };
    case "site file changed": {
      const changes = Array.from({ length: random.between(1, 4) }, () => random.pick(SITE_CHANGES));
      return { name, changes, draw: random.between(0, 1e6) };
    }
    case "uplinks changed":
      return { name };
    case "command sent": {
      const repeats = random.between(0, 3);
      return {
        name,
        sensor: random.pick(codes),
        number: random.between(1, 1e6),
        repeats,
        everyMs: forMs,
      };
    }
    case "document sent":
      return {
        name,
        change: random.pick(SITE_CHANGES),
        damage: null,
        draw: random.between(0, 1e6),
      };
  }
}

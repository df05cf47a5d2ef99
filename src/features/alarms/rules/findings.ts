/** What diagnosis brings to the alarms: findings are alarms, too. Without it there are none. */

import type { AlarmEvent } from "../../../core/alarm/event.ts";
import type { FollowedReading } from "../../../core/followed-reading.ts";
import type { Machine } from "../../../core/machine.ts";
import type { Kind, Sensor } from "../../../core/sensor.ts";
import type { Site } from "../../../core/site.ts";
import type { Tx } from "../../../core/tx.ts";
import type { FollowUp } from "./follow-up.ts";
import type { SavedState } from "./kept-states.ts";

type FindingChanges = Pick<FollowUp, "events" | "states">;

export interface Findings {
  setSite(site: Site): void;
  /** Forgets everything: what the store holds follows, by `restore`. */
  clear(): void;
  /** Sets one of its own saved states. Returns its code if the text cannot be read, else null. */
  restore(state: SavedState): string | null;
  /** Everything that should be on disk, for a store that was recreated and lost a part of it. */
  saved(): FollowUp["states"];
  /** The newest reading from before this process started, and the first one that waits, ms. */
  prime(sensor: string, newestMs: number, waitingMs: number | null): void;
  isDiagnosed(sensor: string): boolean;
  /** Readings of one sensor and kind, about to be committed; the alarms have processed them. */
  follow(tx: Tx, sensor: string, kind: Kind, readings: readonly FollowedReading[]): FindingChanges;
  /** Judges readings whose machine's state and speed are known by now. */
  judgeDue(tx: Tx): FindingChanges;
  /** Learns the normal state of a sensor's machine again, with its next readings. */
  relearn(tx: Tx, sensor: string): FollowUp["states"];
  /** Forgets what the site file no longer describes. @param hasReadings of a sensor, so that it takes over now */
  reconcile(tx: Tx, hasReadings: (code: string) => boolean): FollowUp["states"];
  /** Values that its alarm may have on a sensor, whether or not it stands. */
  possibleOn(machine: Machine | undefined, sensor: Sensor): readonly string[];
  /** The same by the site file in effect. */
  possible(sensor: string): readonly string[];
  /** Time of the newest judged reading of a sensor, ms; null before the first. */
  judgedMs(sensor: string): number | null;
  /** Since when the machine has shown each standing finding of a sensor, ms, by the value of its alarm. */
  standingSince(code: string): ReadonlyMap<string, number>;
  /** A standing finding with its newest reading; null where none stands. @param value of its alarm */
  standingAs(
    code: string,
    value: string,
  ): { readonly event: AlarmEvent; readonly stage: number } | null;
  /** What a line that nothing explains adds to a zone alarm of a channel; null: nothing. */
  hintOf(code: string, channel: number): string | null;
  /** The events with which the standing findings would be told now. */
  standing(): readonly AlarmEvent[];
}

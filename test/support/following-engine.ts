/** The engine of alarms with the signals of its machines, as the two follow readings, site files and restarts of an agent. */
import type { DayReadAt } from "../../src/core/day.ts";
import type { FollowedReading } from "../../src/core/followed-reading.ts";
import type { Kind } from "../../src/core/sensor.ts";
import type { Site } from "../../src/core/site.ts";
import type { Tx } from "../../src/core/tx.ts";
import { AlarmEngine } from "../../src/features/alarms/rules/engine.ts";

export class FollowingEngine extends AlarmEngine {
  override setSite(site: Site): void {
    this.wait.setSite(site);
    super.setSite(site);
  }

  override *loading(saved: Parameters<AlarmEngine["loading"]>[0]) {
    this.wait.load();
    return yield* super.loading(saved);
  }

  override follow(
    tx: Tx,
    sensor: string,
    kind: Kind,
    readings: readonly FollowedReading[],
    read: DayReadAt | null = null,
  ): ReturnType<AlarmEngine["follow"]> {
    this.wait.note(tx, sensor, kind, readings, read);
    return super.follow(tx, sensor, kind, readings);
  }
}

import type { PolledKind } from "../core/sensor.ts";
import type { Site } from "../core/site.ts";
import type { TruthRecord } from "./day-response.ts";
import type { FaultBook } from "./faults.ts";
import type { PlainRecord } from "./plain-record.ts";
import type { Plant } from "./plant.ts";
import type { ServedPoint } from "./served.ts";
import type { CallNote } from "./service.ts";
import type { SettingsState } from "./settings.ts";
import type { SimulatedClock } from "./simulated-clock.ts";
import type { TimeZone } from "./time-zone.ts";

export interface ShownRecord extends ServedPoint {
  /** Time of the unaltered record, gateway's clock, ms. */
  readonly timeMs: number;
  /** Whether it must give a reading, or none may come from it. */
  readonly expect: "reading" | "reject";
  /** The record as it was served. */
  readonly record: PlainRecord;
}

export interface Simulator {
  /** For GATEWAY_URL. */
  readonly url: string;
  readonly port: number;
  readonly plant: Plant;
  readonly faults: FaultBook;
  readonly clock: SimulatedClock;
  readonly zone: TimeZone;
  readonly calls: readonly CallNote[];
  /** Records measured in [fromMs, toMs) on the gateway's clock and visible by now; no fault applied. */
  truth(sensor: string, kind: PolledKind, fromMs: number, toMs: number): TruthRecord[];
  /** Every record ever served, as it was served. */
  served(): Generator<ShownRecord>;
  settings(sensor: string): SettingsState;
  siteFile(site?: string): Site;
  status(): object;
  close(): Promise<void>;
}

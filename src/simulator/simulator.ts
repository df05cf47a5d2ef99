import type { PolledKind, Site } from "../core/sensor.ts";
import type { TruthRecord } from "./day-answer.ts";
import type { FaultBook } from "./faults.ts";
import type { PlainRecord } from "./plain-record.ts";
import type { Plant } from "./plant.ts";
import type { Shown } from "./served.ts";
import type { CallNote } from "./service.ts";
import type { SettingsState } from "./settings.ts";
import type { SimulatedClock } from "./simulated-clock.ts";
import type { TimeZone } from "./time-zone.ts";

export interface ShownRecord extends Shown {
  /** Reading time of the record as the truth has it, gateway's clock, ms. */
  readonly timeMs: number;
  /** Whether a reading must come of it, or none may. */
  readonly expect: "reading" | "reject";
  /** The record as it was shown. */
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
  /** Every record ever shown to anyone, as it was shown. */
  served(): Generator<ShownRecord>;
  settings(sensor: string): SettingsState;
  siteFile(site?: string): Site;
  status(): object;
  close(): Promise<void>;
}

import type { CompiledSensors } from "../../../core/alarm/compile.ts";
import type { AlarmEvent } from "../../../core/alarm/event.ts";
import type { Sensor } from "../../../core/sensor.ts";
import type { Site } from "../../../core/site.ts";
import type { Tx } from "../../../core/tx.ts";
import type { Wait } from "../../machines/api.ts";
import type { BaselineSamples } from "./baseline-samples.ts";
import type { Findings } from "./findings.ts";
import type { CompletedBaseline, LearningSample } from "./follow-up.ts";
import type { AlarmStates } from "./states.ts";

/**
 * What a velocity of a sensor shows while its machine runs, mm/s: the median of its day rows of the 30 days before a time, ms; null
 * where fewer than 7 are known.
 */
export type UsualLevel = (sensor: string, value: string, timeMs: number) => number | null;

/** Shared by the parts of the alarm engine: the compiled site file, and the remembered state. */
export interface AlarmContext {
  readonly site: Site;
  /** By normalised code. */
  readonly sensors: CompiledSensors;
  /** The sensor that replaces another, by the normalised code of the latter. */
  readonly successors: ReadonlyMap<string, Sensor>;
  /** State and speed of machines, and what waits for them. */
  readonly wait: Wait;
  readonly states: AlarmStates;
  /** What baselines learn from. */
  readonly learning: BaselineSamples;
  /** Null: there are none. */
  readonly findings: Pick<Findings, "possibleOn"> | null;
  /** See EngineOptions. */
  readonly usualLevel: UsualLevel;
}

/** The same within the transaction that writes what changes, with what is to be written beside the states. */
export interface AlarmChange extends AlarmContext {
  readonly tx: Tx;
  /** In the order in which they are told. */
  readonly events: AlarmEvent[];
  readonly samples: LearningSample[];
  readonly completed: CompletedBaseline[];
}

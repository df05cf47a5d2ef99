/** What the store holds of alarms becomes the states of the engine again. */

import type { Watch } from "../../../core/alarm/compile.ts";
import { intactJson } from "../../../core/parsed-json.ts";
import { normalCode } from "../../../core/sensor.ts";
import { baselineOf, learn, UNLEARNED } from "./baseline.ts";
import type { AlarmContext } from "./context.ts";
import { isFindingState, restoreFindings } from "./finding-alarms.ts";
import type { Findings } from "./findings.ts";
import type { LearningSample } from "./follow-up.ts";
import type { SavedState } from "./kept-states.ts";
import type { Learned } from "./learned-levels.ts";

export interface SavedAlarms {
  readonly states: Iterable<SavedState>;
  readonly samples: Iterable<LearningSample>;
}

/** Rows whose text cannot be read, by table. */
export interface DamagedAlarms {
  readonly alarm_states: readonly string[];
  readonly alarm_samples: readonly string[];
}

/**
 * A row a step, into empty states; texts that cannot be read are skipped.
 * @param contextNow the site file may change between two steps
 */
export function* loadAlarms(
  contextNow: () => AlarmContext,
  findings: Findings | undefined,
  { states, samples }: SavedAlarms,
): Generator<void, DamagedAlarms> {
  const alarm_states: string[] = [];
  const alarm_samples: string[] = [];
  findings?.clear();
  for (const state of states) {
    const code = isFindingState(state.sensor)
      ? (findings?.restore(state) ?? null)
      : contextNow().states.restore(state);
    if (code !== null) alarm_states.push(code);
    yield;
  }
  for (const sample of samples) {
    try {
      loadSample(contextNow(), sample);
    } catch {
      alarm_samples.push(`${sample.sensor} ${sample.number}`);
    }
    yield;
  }
  // Those that stood before findings were alarms.
  restoreFindings(contextNow(), findings?.standing() ?? []);
  return { alarm_states, alarm_samples };
}

/** Learns again from a stored sample, as after its reading. Throws if its text is damaged. */
function loadSample(context: AlarmContext, { sensor, number, text }: LearningSample): void {
  const code = normalCode(sensor);
  const state = context.states.loaded(code);
  state.nextSample = Math.max(state.nextSample, number + 1);
  const learned = intactJson<Learned>(text);
  for (const [key, [value, zone]] of Object.entries(learned)) {
    const before = state.baselines.get(key) ?? UNLEARNED;
    if (before.first !== null || number < before.from) continue;
    const watch = watchOf(context, code, baselineOf(key).watch);
    if (watch?.test.type !== "baseline") continue;
    const seen = { value, zone, timeMs: state.newest.get(watch.kind)?.timeMs ?? 0 };
    state.baselines.set(
      key,
      learn(before, context.learning.of(code, key, before.from), watch.test, seen),
    );
  }
}

/** What is being learned of a place waits there for the sensor that replaces the one that is gone. */
function watchOf(
  { sensors, successors }: AlarmContext,
  code: string,
  key: string,
): Watch | undefined {
  const own = sensors.get(code)?.byKey.get(key);
  return own ?? sensors.get(normalCode(successors.get(code)?.code ?? code))?.byKey.get(key);
}

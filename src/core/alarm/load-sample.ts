import { intactJson } from "../parsed-json.ts";
import { normalCode } from "../sensor.ts";
import { baselineOf, learn, UNLEARNED } from "./baseline.ts";
import type { Watch } from "./compile.ts";
import type { AlarmContext } from "./context.ts";
import type { LearningSample } from "./follow-up.ts";
import type { Learned } from "./learned-levels.ts";

/** Learns again from a stored sample, as after its reading. Throws if its text is damaged. */
export function loadSample(context: AlarmContext, { sensor, number, text }: LearningSample): void {
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

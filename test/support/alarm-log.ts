/** The log of alarms over a store: what features do in its transactions is given to it. */
import { EngineFailures } from "../../src/core/engine-failures.ts";
import { AlarmLog } from "../../src/features/alarms/alarm-log.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import type { Store } from "../../src/pipeline/store/store.ts";
import { ManualClock } from "./manual-clock.ts";

const LOGS = new WeakMap<Store, AlarmLog>();

/** One for each store. @param failures by default nobody is told */
export function alarmLogOf(
  store: Store,
  failures = new EngineFailures({ clock: new ManualClock(0), logger: silentLogger }),
): AlarmLog {
  const known = LOGS.get(store);
  if (known !== undefined) return known;
  const { keeping, tables } = store;
  const log = new AlarmLog({ keeping, tables, failures });
  store.steps.list = [...store.steps.list, log];
  LOGS.set(store, log);
  return log;
}

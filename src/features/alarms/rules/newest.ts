/** What an active alarm shows now: its event and topic keep the words of their transition (plant section 28, Figures). */

import type { Watch } from "../../../core/alarm/compile.ts";
import type { AlarmEvent } from "../../../core/alarm/event.ts";
import type { NewestShown } from "../../../core/alarm/shown.ts";
import type { Site } from "../../../core/site.ts";
import { FINDING_ALARM } from "./finding-alarms.ts";
import type { FoundAlarm } from "./found-alarm.ts";
import { activeSentence } from "./sentence.ts";
import { namedValue } from "./zone-basis.ts";

/** A finding as it stands with its newest reading. */
export interface StandingFinding {
  readonly event: Pick<AlarmEvent, "timeMs" | "measured" | "limit" | "text">;
  readonly stage: number;
}

/**
 * Null while the alarm is not active.
 * @param watch absent: of an alarm that no rule watches, such as silence
 */
export function newestOf(
  { state, sensor }: FoundAlarm,
  site: Site,
  watch: Watch | undefined,
  finding: StandingFinding | null,
): NewestShown | null {
  const { raised, watch: judged, alarm, value, unit } = state;
  if (raised === null || judged.active === null) return null;
  if (alarm === FINDING_ALARM && finding !== null) {
    const { measured, limit, text, timeMs } = finding.event;
    return { measured, limit, stage: finding.stage, time: new Date(timeMs).toISOString(), text };
  }
  const { seenMs, measured } = raised;
  const worst = judged.worst?.measured ?? null;
  const text =
    watch === undefined || sensor === null || measured === null
      ? raised.text
      : activeSentence(
          { sensor, site, value: namedValue(value, unit), unit, measured, worst },
          judged.active,
          watch.test.type,
        );
  const time = new Date(seenMs).toISOString();
  return { measured, limit: judged.active.limit, stage: null, time, text };
}

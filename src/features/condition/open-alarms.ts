import type { AlarmLists } from "../../core/alarm/shown.ts";
import type { FindingView } from "../../core/diagnosis/shown.ts";
import { grouped } from "../../core/grouped.ts";
import { normalCode } from "../../core/sensor.ts";
import type { OpenAlarm } from "./rules/condition.ts";

const findingKey = (sensor: string, finding: string, bearing: string | null) =>
  `${normalCode(sensor)} ${bearing === null ? finding : `${finding}/${bearing}`}`;

/** By normalised code, the stages of findings left out. */
export function bySensor({ active, acknowledged, shelved }: AlarmLists): Map<string, OpenAlarm[]> {
  const all = [...active, ...acknowledged, ...shelved].flatMap((view): OpenAlarm[] => {
    if (view.state !== "active") return [];
    const { id, sensor, alarm, value } = view;
    return [
      {
        id,
        sensor,
        alarm,
        value,
        severity: view.severity ?? "warning",
        isAcknowledged: view.acknowledged !== null,
        isShelved: (view.shelved ?? null) !== null,
        sinceMs: Date.parse(view.since ?? ""),
        stage: null,
        // As the newest reading says it; events and topics keep the words of their moment.
        text: view.newest?.text ?? view.text ?? "",
      },
    ];
  });
  return grouped(all, ({ sensor }) => normalCode(sensor));
}

/** Alarms with the stages and the newest words of those that are findings. */
export function staged(
  alarms: readonly OpenAlarm[],
  findings: readonly FindingView[],
): readonly OpenAlarm[] {
  if (findings.length === 0) return alarms;
  const shown = new Map(
    findings.map(({ sensor, finding, bearing, stage, text }) => [
      findingKey(sensor, finding, bearing),
      { stage, text },
    ]),
  );
  return alarms.map((one) => {
    const now = one.alarm === "finding" ? shown.get(alarmKey(one)) : undefined;
    return now === undefined ? one : { ...one, ...now };
  });
}

const alarmKey = ({ sensor, value }: OpenAlarm) => `${normalCode(sensor)} ${value}`;

/** Findings whose alarm is not shelved. */
export function unshelved(
  findings: readonly FindingView[],
  alarms: readonly OpenAlarm[],
): readonly FindingView[] {
  const shelved = new Set(
    alarms.filter((one) => one.isShelved && one.alarm === "finding").map(alarmKey),
  );
  return findings.filter(
    ({ sensor, finding, bearing }) => !shelved.has(findingKey(sensor, finding, bearing)),
  );
}

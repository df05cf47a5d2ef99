import type { AlarmLists } from "../core/alarm/shown.ts";
import { grouped } from "../core/grouped.ts";
import type { OpenAlarm } from "../core/machine-condition/condition.ts";
import { normalCode } from "../core/sensor.ts";

export const findingKey = (sensor: string, finding: string, bearing: string | null) =>
  `${normalCode(sensor)} ${bearing === null ? finding : `${finding}/${bearing}`}`;

export function bySensor(
  { active, acknowledged, shelved }: AlarmLists,
  stages: ReadonlyMap<string, 1 | 2 | 3>,
): Map<string, OpenAlarm[]> {
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
        stage: alarm === "finding" ? (stages.get(`${normalCode(sensor)} ${value}`) ?? null) : null,
        text: view.text ?? "",
      },
    ];
  });
  return grouped(all, ({ sensor }) => normalCode(sensor));
}

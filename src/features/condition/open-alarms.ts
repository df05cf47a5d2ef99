import type { AlarmActions } from "../../core/alarm/view.ts";
import type { FindingView } from "../../core/diagnosis/shown.ts";
import { grouped } from "../../core/grouped.ts";
import { normalCode } from "../../core/sensor.ts";
import type { OpenAlarm } from "./rules/condition.ts";

const findingKey = (sensor: string, finding: string, bearing: string | null) =>
  `${normalCode(sensor)} ${bearing === null ? finding : `${finding}/${bearing}`}`;

/** The active alarms of all sensors, the stages of findings left out: only those that may have changed are read anew. */
export class OpenAlarms {
  readonly #alarms: Pick<AlarmActions, "changedSince" | "revision" | "standing">;
  readonly #known = new Map<string, readonly OpenAlarm[]>();
  /** Normalised codes of sensors of which something was stored or judged since the last look. */
  readonly #noted = new Set<string>();
  #revision: number | null = null;

  constructor(alarms: Pick<AlarmActions, "changedSince" | "revision" | "standing">) {
    this.#alarms = alarms;
  }

  /** As of the last look, by normalised code. */
  get bySensor(): ReadonlyMap<string, readonly OpenAlarm[]> {
    return this.#known;
  }

  /** The state of a finding is not among those of alarms. @param code normalised */
  note(code: string): void {
    this.#noted.add(code);
  }

  /** Returns the normalised codes of sensors whose alarms are others, or say something else. */
  look(): readonly string[] {
    const { revision } = this.#alarms;
    const changed = this.#revision === null ? null : this.#alarms.changedSince(this.#revision);
    const codes = changed && new Set([...changed, ...this.#noted]);
    const all = this.#alarms.standing(codes).map((alarm) => ({ ...alarm, stage: null }));
    const now = grouped(all, ({ sensor }) => normalCode(sensor));
    this.#revision = revision;
    this.#noted.clear();
    const looked = codes ?? new Set([...now.keys(), ...this.#known.keys()]);
    return [...looked].filter((code) => {
      const open = now.get(code);
      if (JSON.stringify(open) === JSON.stringify(this.#known.get(code))) return false;
      if (open === undefined) this.#known.delete(code);
      else this.#known.set(code, open);
      return true;
    });
  }
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

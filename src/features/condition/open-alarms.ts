import type { FindingView } from "../../core/diagnosis/shown.ts";
import { normalCode } from "../../core/sensor.ts";
import type { AlarmActions } from "../alarms/api.ts";
import type { OpenAlarm } from "./rules/condition.ts";

const findingKey = (sensor: string, finding: string, bearing: string | null) =>
  `${normalCode(sensor)} ${bearing === null ? finding : `${finding}/${bearing}`}`;

type Source = Pick<AlarmActions, "changedSince" | "marks" | "revision" | "standing">;

/**
 * The active alarms of all sensors, the stages of findings left out. What a reading changes of one that stands, its
 * words, is made when somebody asks for them.
 */
export class OpenAlarms {
  readonly #alarms: Source;
  /** Without the words, by normalised code. */
  readonly #marks = new Map<string, string>();
  /** With words that are as of the last look. */
  readonly #known = new Map<string, readonly OpenAlarm[]>();
  /** Normalised codes of sensors of which something was stored or judged since the last look. */
  readonly #noted = new Set<string>();
  #revision: number | null = null;

  constructor(alarms: Source) {
    this.#alarms = alarms;
  }

  /** How many sensors have some, as of the last look. */
  get size(): number {
    return this.#marks.size;
  }

  /** @param code normalised */
  get(code: string): readonly OpenAlarm[] | undefined {
    const known = this.#known.get(code);
    if (known !== undefined || !this.#marks.has(code)) return known;
    const open = this.#alarms.standing(new Set([code])).map((one) => ({ ...one, stage: null }));
    this.#known.set(code, open);
    return open;
  }

  /** The state of a finding is not among those of alarms. @param code normalised */
  note(code: string): void {
    this.#noted.add(code);
  }

  /** Returns the normalised codes of sensors with other alarms, or whose state is another one; their words may be, too. */
  look(): readonly string[] {
    const { revision } = this.#alarms;
    const changed = this.#revision === null ? null : this.#alarms.changedSince(this.#revision);
    const codes = changed && new Set([...changed, ...this.#noted]);
    const now = this.#alarms.marks(codes);
    this.#revision = revision;
    this.#noted.clear();
    const looked = codes ?? new Set([...now.keys(), ...this.#marks.keys()]);
    return [...looked].filter((code) => {
      this.#known.delete(code);
      const marks = now.get(code);
      if (marks === this.#marks.get(code)) return false;
      if (marks === undefined) this.#marks.delete(code);
      else this.#marks.set(code, marks);
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

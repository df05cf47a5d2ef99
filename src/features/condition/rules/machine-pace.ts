/** When the message about a machine is due (plant section 25): at most one in ten seconds, an alarm at once. Pure. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../core/time-units.ts";
import type { MachineKeys } from "./machine-payload.ts";

/** At least between two messages about a machine. */
const APART_MS = 10_000;
/** Messages of a machine that becomes `alarm` go at once this often within a minute. */
const URGENT_MAX = 6;
/** Members that are no change of the machine, alone. */
export const OTHERS_MS = 15 * MINUTE_MS;

/** What was last sent about a machine, by the monotonic clock. */
export interface SentMachine {
  readonly keys: MachineKeys;
  /** It was in alarm then, and at each look since. */
  readonly isAlarm: boolean;
  readonly at: number;
  /** When messages went at once, within the last minute. */
  readonly urgent: readonly number[];
  /** The session in which it was sent. */
  readonly session: number;
  /** When members that are no change were last found to be the same; absent: when it was sent. */
  readonly comparedAt?: number;
}

export interface MachinePace {
  /** Between messages of which only other members differ, ms; null: none for these alone. */
  readonly othersMs: number | null;
}

type MachineState = Pick<SentMachine, "keys" | "isAlarm" | "session">;

const recent = (times: readonly number[], now: number) =>
  times.filter((at) => now - at < MINUTE_MS);

const isUrgent = (sent: SentMachine, now: MachineState, at: number) =>
  now.isAlarm &&
  !sent.isAlarm &&
  sent.keys.change !== now.keys.change &&
  recent(sent.urgent, at).length < URGENT_MAX;

/** After each look: it may leave alarm, and return to it, between two messages. */
export const looked = (sent: SentMachine, { isAlarm }: Pick<MachineState, "isAlarm">) =>
  sent.isAlarm && !isAlarm ? { ...sent, isAlarm: false } : sent;

/** @param dayMs of `dailyMs` */
export function dueAt(
  sent: SentMachine | undefined,
  state: MachineState,
  { othersMs }: MachinePace,
  dayMs: number,
  now: number,
): number {
  if (sent === undefined || isUrgent(sent, state, now)) return now;
  if (sent.keys.change !== state.keys.change || sent.session !== state.session)
    return sent.at + APART_MS;
  const daily = sent.at + dayMs;
  if (othersMs === null || sent.keys.rest === state.keys.rest) return daily;
  return Math.min(daily, sent.at + Math.max(APART_MS, othersMs));
}

/** Whether members that are no change may have become due: they are compared as often as they may be sent. */
export const isUnsure = (
  { at, comparedAt = at }: SentMachine,
  { othersMs }: MachinePace,
  now: number,
): boolean => othersMs !== null && now >= comparedAt + Math.max(APART_MS, othersMs);

export function sentNow(
  before: SentMachine | undefined,
  state: MachineState,
  now: number,
): SentMachine {
  const urgent = before === undefined ? [] : recent(before.urgent, now);
  const isNow = before !== undefined && isUrgent(before, state, now);
  return { ...state, at: now, urgent: isNow ? [...urgent, now] : urgent };
}

/** How long an unchanged machine is not told again, ms: up to an hour less than a day, so that they do not come together. */
export function dailyMs(site: string, id: number): number {
  let hash = 2_166_136_261;
  for (const char of `${site}/${id}`)
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16_777_619);
  return DAY_MS - ((hash >>> 0) % HOUR_MS);
}

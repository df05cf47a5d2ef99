import { CONDITIONS } from "../../core/condition/words.ts";
import type { MachineConditions } from "./machine-conditions.ts";

/** The machines as registers show them: numbers of words, of those whose sensors have been read. */
export function registerPort(conditions: Pick<MachineConditions, "current" | "onLook">) {
  return {
    follow: () => conditions.onLook(() => {}),
    registers: () =>
      new Map(
        conditions.current
          .filter(({ isSettled }) => isSettled)
          .map(({ id, members, judgedMs }) => {
            const { zone, stage, running, alarmCount } = members;
            const condition = CONDITIONS.indexOf(members.condition) + 1;
            const open = alarmCount.alarm + alarmCount.warning;
            return [id, { condition, zone, stage, running, open, judgedMs }] as const;
          }),
      ),
  };
}

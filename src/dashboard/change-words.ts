/** What a machine's entry says of its change. */
import type { RankedMachine } from "../core/condition/shown.ts";
import { number } from "./format.ts";

/** `+424 % in 30 days`, or from when on that can be told. */
export function changeWords({ changed }: RankedMachine): { text: string; more: string } {
  if (changed === null) return { text: "–", more: "no change known yet" };
  const { now, before, against } = changed;
  if (now === null || before === null || before <= 0) {
    const day = /before (\d.*?)\.?$/.exec(changed.text)?.[1];
    return {
      text: "–",
      more: day === undefined ? "nothing to compare with yet" : `no comparison before ${day}`,
    };
  }
  const percent = (now / before - 1) * 100;
  const more =
    against === "month" ? "in 30 days" : against === "pin" ? "since the pin" : "to its baseline";
  if (percent > 1000) return { text: "new", more };
  const size =
    Math.abs(percent) < 10 ? number(Math.abs(percent), "%") : String(Math.round(Math.abs(percent)));
  const sign = percent > 0 ? "+" : percent < 0 ? "\u2212" : "±";
  return { text: `${sign}${size}\u00a0%`, more };
}

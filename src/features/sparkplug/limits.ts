import type { AlarmActions } from "../../core/alarm/view.ts";
import type { Kind } from "../../core/sensor.ts";
import type { MetricLimits } from "./metric-limits.ts";

/** The limits that judge a sensor's values now: zone C and a baseline are `high`, zone D is `highHigh`. */
export function sparkplugLimits(
  alarms: Pick<AlarmActions, "baselines" | "limits">,
  isStanding: (sensor: string) => boolean,
): (sensor: string) => (kind: Kind, value: string) => MetricLimits {
  return (sensor) => {
    const fixed = alarms.limits(sensor);
    const standing = isStanding(sensor);
    const learned = alarms
      .baselines(sensor)
      .filter(
        ({ machineState, status }) =>
          status === "learned" && machineState !== (standing ? "running" : "standing"),
      );
    return (kind, value) => {
      const own = fixed.filter((limit) => limit.kind === kind && limit.value === value);
      const baselines = learned.filter((one) => one.value === value);
      const tightest = (
        name: keyof MetricLimits,
        limits: readonly (number | null)[],
        pick: (...numbers: number[]) => number,
      ): MetricLimits => {
        const numbers = limits.filter((limit) => limit !== null);
        return numbers.length === 0 ? {} : { [name]: pick(...numbers) };
      };
      return {
        ...tightest(
          "high",
          [...own, ...baselines].map(({ high }) => high),
          Math.min,
        ),
        ...tightest(
          "highHigh",
          own.map(({ highHigh }) => highHigh),
          Math.min,
        ),
        ...tightest(
          "low",
          [...own, ...baselines].map(({ low }) => low),
          Math.max,
        ),
        ...tightest(
          "lowLow",
          own.map(({ lowLow }) => lowLow),
          Math.max,
        ),
      };
    };
  };
}

import { CONDITIONS } from "../../core/condition/words.ts";
import { escaped } from "../../http/sensor-series.ts";
import type { MachineNow } from "./machine-conditions.ts";

export const CONDITION_METRIC = {
  name: "gateside_machine_condition",
  help: "1 for the current condition of a machine, 0 for the others.",
  labels: ["machine", "condition"],
} as const;

/** The conditions of machines in Prometheus' text format; of one whose sensors were not read yet nothing. */
export function machineSeries(
  site: string,
  machines: readonly Pick<MachineNow, "id" | "isSettled" | "members">[],
): string {
  const { name, help } = CONDITION_METRIC;
  const lines = machines
    .filter(({ isSettled }) => isSettled)
    .flatMap(({ id, members }) =>
      CONDITIONS.map((condition) => {
        const labels = `machine="${id}",condition="${condition}",site="${escaped(site)}"`;
        return `${name}{${labels}} ${members.condition === condition ? 1 : 0}`;
      }),
    );
  const head = [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`];
  return `${[...head, ...lines].join("\n")}\n\n`;
}

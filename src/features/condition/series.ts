import { escaped } from "../../http/sensor-series.ts";
import type { MachineNow } from "./machine-conditions.ts";
import { CONDITIONS } from "./rules/words.ts";

const CONDITION_METRIC = "gateside_machine_condition";

/** The conditions of machines in Prometheus' text format; of one whose sensors were not read yet nothing. */
export function machineSeries(
  site: string,
  machines: readonly Pick<MachineNow, "id" | "isSettled" | "members">[],
): string {
  const lines = machines
    .filter(({ isSettled }) => isSettled)
    .flatMap(({ id, members }) =>
      CONDITIONS.map((condition) => {
        const labels = `machine="${id}",condition="${condition}",site="${escaped(site)}"`;
        return `${CONDITION_METRIC}{${labels}} ${members.condition === condition ? 1 : 0}`;
      }),
    );
  const head = [
    `# HELP ${CONDITION_METRIC} 1 for the current condition of a machine, 0 for the others.`,
    `# TYPE ${CONDITION_METRIC} gauge`,
  ];
  return `${[...head, ...lines].join("\n")}\n\n`;
}

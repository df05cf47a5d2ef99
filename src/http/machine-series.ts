import type { MachineNow } from "../features/condition/machine-conditions.ts";
import { CONDITIONS } from "../features/condition/rules/words.ts";
import { escaped } from "./sensor-series.ts";

const NAME = "gateside_machine_condition";

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
        return `${NAME}{${labels}} ${members.condition === condition ? 1 : 0}`;
      }),
    );
  const head = [
    `# HELP ${NAME} 1 for the current condition of a machine, 0 for the others.`,
    `# TYPE ${NAME} gauge`,
  ];
  return `${[...head, ...lines].join("\n")}\n\n`;
}

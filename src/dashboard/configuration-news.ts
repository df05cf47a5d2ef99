import type { ShownStatus } from "../core/agent-status.ts";

/** Settings that are not in effect; the faults on the overview say what to do. */
export function configurationNews({
  configurationFaults,
  pendingRestart,
  pendingReload,
}: Pick<ShownStatus, "configurationFaults" | "pendingRestart" | "pendingReload">): string {
  const parts = [
    configurationFaults.length > 0 &&
      `The last reload was refused: ${configurationFaults[0]}${configurationFaults.length > 1 ? `, and ${configurationFaults.length - 1} more` : ""}. The previous configuration is still in effect.`,
    pendingRestart.length > 0 && `Waiting for a restart: ${pendingRestart.join(", ")}.`,
    pendingReload.length > 0 && `Changed and waiting for a reload: ${pendingReload.join(", ")}.`,
  ];
  return parts.filter((part) => part !== false).join(" ");
}

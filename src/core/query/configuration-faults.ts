/** Faults of the configuration, and of the agent's own HTTP server. */
import type { AgentStatus } from "../agent-status.ts";
import type { Fault } from "./fault.ts";

/** Fault lines of a refused reload that are shown; the log has them all. */
const LINES_MAX = 5;

export function configurationFaults(status: AgentStatus): Fault[] {
  const { configurationFaults: lines, pendingRestart, pendingReload, http } = status;
  const faults: Fault[] = [];
  if (status.sensors.length === 0) {
    faults.push({
      code: "no_sensors",
      severity: "warning",
      subject: "configuration",
      what: "No sensors are configured yet, so nothing is read.",
      remedy:
        "Open the set-up page and add them, or write SITE_FILE and reload; `gateside discover` drafts one.",
      sinceMs: null,
    });
  }
  if (lines.length > 0) {
    const more = lines.length > LINES_MAX ? `; and ${lines.length - LINES_MAX} more` : "";
    faults.push({
      code: "reload_refused",
      severity: "error",
      subject: "configuration",
      what: `The last reload was refused; the previous configuration stays in effect: ${lines.slice(0, LINES_MAX).join("; ")}${more}.`,
      remedy: "Correct these errors (`gateside check` lists all of them) and reload again.",
      sinceMs: null,
    });
  }
  if (pendingRestart.length > 0) {
    faults.push({
      code: "restart_pending",
      severity: "warning",
      subject: "configuration",
      what: `Settings have changed since the agent started: ${pendingRestart.join(", ")}.`,
      remedy: "Restart the agent to apply them, or undo the changes.",
      sinceMs: null,
    });
  }
  if (pendingReload.length > 0) {
    faults.push({
      code: "reload_pending",
      severity: "warning",
      subject: "configuration",
      what: `Files have changed since the agent read them: ${pendingReload.join(", ")}.`,
      remedy: "`gateside check --diff` shows what a reload would do; `gateside reload` does it.",
      sinceMs: null,
    });
  }
  if (http.lastError !== null) {
    faults.push({
      code: "http_not_listening",
      severity: "warning",
      subject: "http",
      what: `The HTTP server is not listening: ${http.lastError}. Readings are still collected and published.`,
      remedy: "It is retried automatically; free the port, or set another HTTP_PORT and restart.",
      sinceMs: null,
    });
  }
  return faults;
}

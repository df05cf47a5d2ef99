/** What of the agent's status is published at once when it changes, as texts to compare. */
import type { AgentStatus } from "../../core/agent-status.ts";

export function configurationOf({ configuration, pendingRestart }: AgentStatus): string {
  return JSON.stringify([configuration, pendingRestart]);
}

/** What an operator is alerted for: it changes if something fails or recovers. */
export function healthOf(status: AgentStatus): string {
  const { gateway, links, buffer, clock, configurationFaults } = status;
  const sessions = links.map((link) => [
    link.isConnected,
    link.hostOnline ?? null,
    Boolean(link.refused),
    Boolean(link.otherAgent),
  ]);
  const { isWritable, alarm } = buffer;
  return JSON.stringify([
    gateway.isUp,
    sessions,
    isWritable,
    alarm !== null,
    clock.isPlausible,
    configurationFaults,
  ]);
}

/** Machines as `gateside status` shows them: how many are in which condition, and those that are not ok, worst first. */
import { grouped } from "../core/lists/grouped.ts";
import { type AgentClient, AgentFailure } from "./agent-client.ts";
import { table } from "./table.ts";

const SHOWN_MAX = 20;

/** What is read of an entry of GET /api/v1/machines?sort=worst. */
export interface StatusMachine {
  readonly id: number | null;
  readonly sensor: string | null;
  readonly name: string | null;
  readonly area: string | null;
  readonly condition: string;
  readonly reason: string;
  /** ISO. */
  readonly since: string | null;
  readonly sinceAtLeast: boolean;
  readonly zone: string | null;
  readonly stage: number | null;
}

/** Worst first; null from an agent that tells none. */
export async function readMachines(
  client: AgentClient,
  signal: AbortSignal,
): Promise<readonly StatusMachine[] | null> {
  try {
    const path = "/api/v1/machines?sort=worst";
    const { machines } = await client.get<{ machines: readonly StatusMachine[] }>(path, signal);
    return machines;
  } catch (error) {
    // The status says the rest.
    if (error instanceof AgentFailure) return null;
    throw error;
  }
}

/** @param ago how long ago a time was, in words */
export function machineLines(
  machines: readonly StatusMachine[],
  ago: (timeMs: number) => string,
): { readonly counts: string; readonly rows: string } {
  const counts = [...grouped(machines, ({ condition }) => condition)].map(
    ([word, { length }]) => `${length} ${word}`,
  );
  const worst = machines.filter(({ condition }) => condition !== "ok");
  const rows = worst.slice(0, SHOWN_MAX).map((machine) => {
    const { id, sensor, name, area, condition, zone, stage, since, reason } = machine;
    const label = name ?? (id === null ? `Sensor ${sensor}` : `Machine ${id}`);
    const began = since === null ? "" : `since ${ago(Date.parse(since))}`;
    return [
      label,
      area ?? "",
      condition,
      zone === null ? "" : `zone ${zone}`,
      stage === null ? "" : `stage ${stage}`,
      machine.sinceAtLeast && began !== "" ? began.replace("since", "at least since") : began,
      reason,
    ];
  });
  const rest = worst.length - rows.length;
  const more = rest === 0 ? "" : `and ${rest} more\n`;
  return { counts: counts.join(", "), rows: rows.length === 0 ? "" : `${table(rows, "")}${more}` };
}

import assert from "node:assert/strict";
import type {
  CallTimes,
  CommandEntry,
  CommandLog,
  CommandResult,
  LoggedOutcome,
  RefusedCommand,
} from "../../../src/core/command.ts";

export class MemoryLog implements CommandLog {
  readonly entries: (CommandEntry & LoggedOutcome & { finishedAtMs: number | null })[] = [];
  begin(entry: CommandEntry): number {
    const nothing = { outcome: null, statusNumber: null, description: null, finishedAtMs: null };
    return this.entries.push({ ...entry, ...nothing }) - 1;
  }
  async finish(
    command: number,
    result: Omit<CommandResult, "ok">,
    finishedAtMs: number,
  ): Promise<void> {
    const entry = this.entries[command];
    assert.ok(entry);
    const { outcome, statusNumber, description } = result;
    this.entries[command] = { ...entry, outcome, statusNumber, description, finishedAtMs };
  }
  async refused(group: readonly RefusedCommand[]): Promise<void> {
    for (const { entry, result, finishedAtMs } of group)
      await this.finish(this.begin(entry), result, finishedAtMs);
  }
  findByKey(key: string, sinceMs: number): LoggedOutcome | null {
    return this.entries.findLast((e) => e.key === key && e.receivedAtMs >= sinceMs) ?? null;
  }
  lastQueued(sensor: string): { finishedAtMs: number | null } | null {
    return this.entries.findLast((e) => e.sensor === sensor && e.outcome === "queued") ?? null;
  }
  lastCall(): CallTimes | null {
    return this.entries.findLast((e) => e.outcome !== "rejected_local") ?? null;
  }
}

import type { AuditEntry } from "../../src/core/audit.ts";

/** An audit log in memory. */
export function auditLog() {
  const entries: AuditEntry[] = [];
  return {
    entries,
    audit: {
      add: async (entry: AuditEntry) => void entries.push(entry),
      newest: (limit: number, before: number | null) =>
        entries
          .map((entry, index) => ({
            ...entry,
            person: entry.person ?? null,
            entry: index + 1,
            times: 1,
            lastTimeMs: entry.timeMs,
          }))
          .filter(({ entry }) => before === null || entry < before)
          .reverse()
          .slice(0, limit),
    },
  };
}

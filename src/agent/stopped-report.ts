/** The report on a machine of a stopped agent, from what its store holds. */
import { reportDocument } from "../features/report/rules/document.ts";
import { gatherReport, type ReportQuery } from "../http/machine-report.ts";
import { VERSION } from "../lib/version.ts";
import { loadByteHashing } from "../lib/xxhash.ts";
import { openStoreToRead } from "../pipeline/store/sqlite-store.ts";
import type { AgentOptions } from "./agent-options.ts";
import { createBase } from "./base.ts";
import { buildParts } from "./build-parts.ts";
import { openResources } from "./resources.ts";

export interface StoppedAgent {
  machines(): Promise<readonly { readonly id: number | null; readonly name: string | null }[]>;
  /** Null for a machine that nothing names. */
  report(query: ReportQuery): Promise<string | null>;
  close(): Promise<void>;
}

/** Opens the store to read and nothing else: no session, no port, and no file is changed. Throws StoreFailure. */
export async function openStoppedAgent(options: AgentOptions): Promise<StoppedAgent> {
  const base = createBase(options, await loadByteHashing());
  const resources = await openResources(base, openStoreToRead);
  const { shown, signals, watch } = await buildParts(options, base, resources);
  watch.open();
  signals.open();
  const timezone = options.settings.gatewayTimezone;
  return {
    machines: () => shown.conditions.worstFirst(),
    async report(query) {
      const input = await gatherReport(shown, { version: VERSION, timezone }, query);
      return input === null ? null : reportDocument(input).html;
    },
    async close() {
      await resources.gateway.close();
      await resources.store.close();
    },
  };
}

/** The API of a stopped agent, from what its store holds. */
import { loadByteHashing } from "../lib/xxhash.ts";
import { openStoreToRead } from "../pipeline/store/sqlite-store.ts";
import type { AgentOptions } from "./agent-options.ts";
import { createBase } from "./base.ts";
import { buildParts } from "./build-parts.ts";
import { beginFeatures } from "./features.ts";
import { openResources } from "./resources.ts";

export interface StoppedAgent {
  /** What a GET of this path is answered with. */
  answer(path: string): Promise<{ readonly status: number; readonly text: string }>;
  close(): Promise<void>;
}

/** Opens the store to read and nothing else: no session, no port, and no file is changed. Throws StoreFailure. */
export async function openStoppedAgent(options: AgentOptions): Promise<StoppedAgent> {
  const base = createBase(options, await loadByteHashing());
  const resources = await openResources(base, openStoreToRead);
  const parts = await buildParts(options, base, resources);
  await beginFeatures(parts);
  return {
    answer: (path) => parts.http.answer(path),
    async close() {
      await resources.gateway.close();
      await resources.store.close();
    },
  };
}

import type { Runtime } from "../../core/ports.ts";
import type { Store } from "./store.ts";

/** Writes a change that was not made over HTTP to the audit log; HTTP writes its own entries. */
export type Audit = (who: string, what: string, outcome: string, detail?: string) => void;

interface AuditParts extends Runtime {
  readonly store: Pick<Store, "audit">;
}

export function createAudit({ store, clock, logger }: AuditParts): Audit {
  return (who, what, outcome, detail = "") => {
    const timeMs = clock.now();
    store.audit
      .add({ timeMs, who, address: "", what, detail, outcome })
      .catch((err: unknown) =>
        logger.error({ err, who, what, outcome }, "a change could not be written to the audit log"),
      );
  };
}

import { list, MS, named, type Of, object, oneOf, orNull, TEXT } from "../schema.ts";

/** One fault as the dashboard and `status` show it; `code` is a stable name, for tests and links. */
const FAULT = named(
  "Fault",
  object({
    code: TEXT,
    severity: oneOf(["error", "warning"]),
    subject: { ...TEXT, description: "gateway, broker, buffer, clock, or a sensor's code." },
    what: TEXT,
    remedy: TEXT,
    sinceMs: orNull(MS),
  }),
);
export type Fault = Of<typeof FAULT>;
export const FAULTS = object({ faults: list(FAULT) });

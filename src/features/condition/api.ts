/** What other features may use of conditions. */
export type { MachineConditions } from "./machine-conditions.ts";

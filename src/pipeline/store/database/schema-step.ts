import type { SalvagedTable } from "../recovery/salvaged-tables.ts";

/**
 * Brings a feature's tables. It runs once in each store, after the store's own steps. Versions are global, from 11 on, and
 * never used twice; a step that was released never changes. A store may hold steps of features that a program has not.
 */
export interface SchemaStep {
  readonly version: number;
  readonly sql: string;
  /** What is copied out of a damaged store. */
  readonly tables: readonly SalvagedTable[];
}

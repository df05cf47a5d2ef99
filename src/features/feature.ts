/**
 * The seams that a feature hangs on: what is known of it before anything is opened (FeatureSpec), and what runs of it
 * (Feature). The lists are specs.ts and all.ts here and features.ts of the dashboard, written by hand, in order. Nothing
 * looks a feature up by name, and nothing outside the lists imports one.
 */
import type { Operation, ServedOperation } from "../http/api-operation.ts";
import type { StoreSteps } from "../pipeline/store/store-steps.ts";

export interface FeatureSpec {
  /** Its folder. */
  readonly name: string;
  readonly operations?: readonly Operation[];
  /** Where what it brings stands in help and documents: after which entry; by default at the end. */
  readonly after?: {
    /** Path of an operation. */
    readonly operations?: string;
  };
}

export interface Feature extends StoreSteps {
  /** An operation of its spec that is not among them is refused with 501. */
  readonly serve?: readonly ServedOperation[];
  /** Works until aborted. A rejection ends the agent. */
  run?(signal: AbortSignal): Promise<void>;
  /** Its members of the status. */
  status?(): object;
  close?(): Promise<void>;
}

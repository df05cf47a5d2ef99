/** What other features may use of diagnosis. */
export type { FindingViews } from "../../core/diagnosis/view.ts";

/** What other features may use of diagnosis. */
export { possibleFindings } from "./rules/possible.ts";
export type { FindingViews } from "./rules/view.ts";

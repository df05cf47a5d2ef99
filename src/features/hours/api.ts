/** What other features may import: which values have medians of days. */
export { hasOutlook, OUTLOOK_KINDS } from "./rules/day-medians.ts";

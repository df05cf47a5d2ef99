import type { FeaturePage } from "../../../dashboard/section.ts";

export const REPORT_PLACE: FeaturePage = {
  at: "machine/report",
  chapter: "maintenance.html#a-report-to-hand-over",
  machineLink: { part: "report", text: "Report" },
  open: async () => (await import("./report-page.ts")).reportPage,
};

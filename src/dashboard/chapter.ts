/** The chapter of the manual about each page; the empty name is the overview's. */
export const CHAPTERS: Readonly<Record<string, string>> = {
  "": "operator.html#what-you-see",
  machine: "maintenance.html#from-a-machine-to-its-cause",
  "machine/report": "maintenance.html#a-report-to-hand-over",
  sensor: "maintenance.html#from-a-machine-to-its-cause",
  alarms: "alarms.html",
  setup: "setup.html",
  units: "operations.html#measurements-that-stay-for-years",
  log: "operations.html#when-something-is-wrong",
};

/** Relative to the dashboard. */
export function chapterAddress(page: string): string {
  return `manual/${CHAPTERS[page] ?? CHAPTERS[""] ?? ""}`;
}

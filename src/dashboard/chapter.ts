/** The chapter of the manual about each page; the empty name is the overview's. */
export const CHAPTERS: Readonly<Record<string, string>> = {
  "": "operator.html#what-you-see",
  sensors: "operator.html#what-you-see",
  machine: "maintenance.html#from-a-machine-to-its-cause",
  sensor: "maintenance.html#from-a-machine-to-its-cause",
  alarms: "alarms.html",
  units: "maintenance.html#a-report-to-hand-over",
  log: "operations.html#when-something-is-wrong",
};

/** What to do without set-up pages: somebody edits the file. */
export const SITE_FILE_CHAPTER = "site-file.html#machines-and-alarms";

/** Relative to the dashboard. @param added those of features */
export function chapterAddress(
  page: string,
  added: readonly { readonly at: string; readonly chapter: string }[],
): string {
  const chapter = added.find(({ at }) => at === page)?.chapter ?? CHAPTERS[page];
  return `manual/${chapter ?? CHAPTERS[""] ?? ""}`;
}

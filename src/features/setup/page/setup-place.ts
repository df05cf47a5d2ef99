import type { FeaturePage } from "../../../dashboard/section.ts";
import { SETUP_PAGES } from "../../../dashboard/setup-pages.ts";

/** The pages of set-up: its start, lists, and an entry of each. */
const SUBJECTS: ReadonlySet<string> = new Set([
  "",
  "sensors",
  "machines",
  "alarms",
  "uplinks",
  "versions",
  "audit",
  "sensor",
  "machine",
  "alarm",
  "uplink",
  ...SETUP_PAGES.map(({ subject }) => subject),
]);

export const SETUP_PLACE: FeaturePage = {
  at: "setup",
  chapter: "setup.html",
  has: (subject) => SUBJECTS.has(subject),
  bar: "Set-up",
  open: async () => (await import("./setup-page.ts")).setupPage,
};

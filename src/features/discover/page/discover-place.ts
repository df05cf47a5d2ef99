import type { SetupPage } from "../../../dashboard/section.ts";

export const DISCOVER_PLACE: SetupPage = {
  subject: "discover",
  parent: "sensors",
  title: "Find sensors",
  link: "Find sensors at the analytics service",
  open: async () => (await import("./discover-view.ts")).discoverView,
};

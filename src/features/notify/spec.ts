/** What people are told of alarms and of the box itself: e-mail, web-hook, heartbeat. */
import type { FeatureSpec } from "../feature.ts";
import type { NotifySettings } from "./notify-settings.ts";

export const NOTIFY_SPEC = {
  name: "notify",
  trial: {
    flag: {
      name: "notify",
      doc: "also send a test message to each destination of alarm messages (e-mail, web-hook, heartbeat)",
    },
    run: async (settings: NotifySettings, site, signal) =>
      (await import("./notify.ts")).tryDestinations(settings, site, signal),
  },
} as const satisfies FeatureSpec;

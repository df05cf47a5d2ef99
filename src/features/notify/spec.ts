/** What people are told of alarms and of the box itself: e-mail, web-hook, heartbeat. */
import type { FeatureSpec } from "../feature.ts";
import {
  NOTIFY_SETTINGS,
  type NotifySettings,
  refineNotify,
  secretsOfNotify,
} from "./notify-settings.ts";

export const NOTIFY_SPEC = {
  name: "notify",
  settings: NOTIFY_SETTINGS,
  replaced: ["ALARM_EMAIL_URL", "ALARM_EMAIL_FROM", "ALARM_EMAIL_TO"],
  refine: refineNotify,
  secrets: secretsOfNotify,
  authorities: ({ alarmWebhookCaFile }: Pick<NotifySettings, "alarmWebhookCaFile">) => ({
    ALARM_WEBHOOK_CA_FILE: alarmWebhookCaFile,
  }),
  trial: {
    flag: {
      name: "notify",
      doc: "also send a test message to each destination of alarm messages (e-mail, web-hook, heartbeat)",
    },
    run: async (settings: NotifySettings, site, signal) =>
      (await import("./notify.ts")).tryDestinations(settings, site, signal),
  },
  after: { settings: "ALARMS_ENABLED" },
} as const satisfies FeatureSpec;

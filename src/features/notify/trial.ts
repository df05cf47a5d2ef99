/** A test message to each destination of alarm messages. */

import type { Finding } from "../../cli/finding.ts";
import { sendTestMessages } from "./notify.ts";
import type { NotifySettings } from "./notify-settings.ts";

const NAMES = { webhook: "alarm web-hook", email: "alarm e-mail", heartbeat: "heartbeat" } as const;

export async function tryDestinations(
  settings: NotifySettings,
  site: string,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const states = await sendTestMessages(settings, site, signal);
  if (states.length === 0) {
    const detail = "no destination: set ALARM_EMAIL_URL, ALARM_WEBHOOK_URL or HEARTBEAT_URL";
    return [{ what: "notifications", state: "failed", detail }];
  }
  return states.map(({ name, lastError }) =>
    lastError === null
      ? { what: NAMES[name], state: "ok", detail: "a test message was accepted" }
      : {
          what: NAMES[name],
          state: "failed",
          detail: `the test message was not accepted: ${lastError}`,
        },
  );
}

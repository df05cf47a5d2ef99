/** A test message to each destination of alarm messages. */
import { sendTestMessages } from "../agent/notifications.ts";
import type { Settings } from "../config/settings.ts";
import type { Finding } from "./finding.ts";

const NAMES = { webhook: "alarm web-hook", email: "alarm e-mail", heartbeat: "heartbeat" } as const;

export async function checkNotifications(
  settings: Settings,
  site: string,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<void> {
  const states = await sendTestMessages(settings, site, signal);
  for (const { name, lastError } of states) {
    const what = NAMES[name];
    if (lastError === null) found({ what, state: "ok", detail: "a test message was accepted" });
    else
      found({ what, state: "failed", detail: `the test message was not accepted: ${lastError}` });
  }
  if (states.length > 0) return;
  const detail = "no destination: set ALARM_EMAIL_URL, ALARM_WEBHOOK_URL or HEARTBEAT_URL";
  found({ what: "notifications", state: "failed", detail });
}

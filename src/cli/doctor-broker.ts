import { trialOptions, tryAddress } from "../agent/try-broker.ts";
import { MAIN_UPLINK, type Uplink } from "../core/uplink.ts";
import type { MqttLinkOptions } from "../link/link-options.ts";
import type { Finding } from "./finding.ts";

/**
 * One session at each address with an id of its own, so that a running agent keeps its session; nothing is published.
 */
export async function checkBroker(
  uplink: Uplink,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<void> {
  await checkAddresses(
    trialOptions(uplink, "doctor"),
    uplink.name === MAIN_UPLINK ? "broker" : `broker ${uplink.name}`,
    found,
    signal,
  );
}

/** Tries each address of one cluster in turn; `what` is the heading of each finding. */
async function checkAddresses(
  options: MqttLinkOptions,
  what: string,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const address of options.urls) {
    const tried = await tryAddress(options, address, signal);
    if (tried === null) return;
    const { url, ok, detail } = tried;
    if (ok) found({ what, state: "ok", detail: `${url} ${detail}` });
    else found({ what, state: "failed", detail: `${url}: ${detail}${remedyFor(detail, what)}` });
  }
}

/** Where to look, unless the reason itself names the setting. */
function remedyFor(why: string, what: string): string {
  if (/MQTT_|UPLINKS_FILE|clock/.test(why)) return "";
  const isAnswer = why.startsWith("the broker ") && !why.includes("cannot be reached");
  return isAnswer
    ? "; see the broker's log for the reason"
    : "; check that the broker is running and reachable from this network, and that its address is correct" +
        (what === "broker" ? " (MQTT_URL)" : "");
}

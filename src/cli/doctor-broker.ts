import { brokerOptions } from "../agent/assemble.ts";
import type { Settings } from "../config/settings.ts";
import { systemClock } from "../lib/clock.ts";
import { silentLogger } from "../lib/logger.ts";
import type { SessionInfo } from "../publish/link-options.ts";
import { MqttLink } from "../publish/mqtt-link.ts";
import type { Finding } from "./finding.ts";

const CONNECT_MAX_MS = 20_000;
/** How often a failed attempt is looked for, ms. */
const LOOK_MS = 50;

/** One session under an id of its own, so that a running agent keeps its; nothing is published. */
export async function checkBroker(
  settings: Settings,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<void> {
  let info: SessionInfo | null = null;
  const link = new MqttLink(
    {
      clock: systemClock,
      logger: silentLogger,
      hooks: {
        onConnected: (session) => {
          info = session;
        },
      },
    },
    {
      ...brokerOptions(settings, `${settings.mqttClientId}-doctor`),
      name: "mqtt",
      connectTimeoutMs: CONNECT_MAX_MS,
    },
  );
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const running = link.run(both);
  const isOpen = await firstOutcome(link, both);
  const { url, lastError } = link.state;
  if (isOpen)
    found({ what: "broker", state: "ok", detail: `${url} connected${limits(info, settings)}` });
  else if (!signal.aborted) {
    const why = lastError ?? `no connection within ${CONNECT_MAX_MS / 1000} s`;
    found({ what: "broker", state: "failed", detail: `${url}: ${why}${remedyFor(why)}` });
  }
  await link.close([]);
  stop.abort();
  await running;
}

/** Where to look, unless the reason itself names the setting. */
function remedyFor(why: string): string {
  if (/MQTT_|clock/.test(why)) return "";
  const isAnswer = why.startsWith("the broker ") && !why.includes("cannot be reached");
  return isAnswer
    ? "; the broker's own log tells more"
    : "; is the broker running and on this network, and MQTT_URL its address?";
}

/** True once connected; false once the first attempt has failed, took too long, or was aborted. */
async function firstOutcome(link: MqttLink, signal: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const ready = link.ready(AbortSignal.any([signal, over.signal]));
  const until = systemClock.monotonic() + CONNECT_MAX_MS;
  const watch = (async () => {
    while (!over.signal.aborted && !signal.aborted && link.state.lastError === null) {
      if (systemClock.monotonic() > until) break;
      await systemClock.sleep(LOOK_MS, over.signal);
    }
    over.abort();
  })();
  const isOpen = await ready;
  over.abort();
  await watch;
  return isOpen;
}

function limits(info: SessionInfo | null, { mqttVersion }: Settings): string {
  if (mqttVersion === 4 || info === null) return " (MQTT 3.1.1 announces no limits)";
  const { receiveMaximum, maximumPacketSize, retainAvailable } = info;
  const packet = maximumPacketSize === null ? "any size" : `${maximumPacketSize} bytes`;
  const inflight = receiveMaximum === null ? "65535" : String(receiveMaximum);
  const retain = retainAvailable ? "" : ", NO retained messages";
  return `; it allows packets of ${packet}, ${inflight} in flight${retain}`;
}

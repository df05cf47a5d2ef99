import type { FailureClass } from "../core/failure.ts";
import type { Reading } from "../core/reading.ts";
import { isRead, type PolledKind, type Sensor } from "../core/sensor.ts";
import { dayOf } from "../core/time/time-zone.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { systemClock } from "../lib/clock.ts";
import { rejectedText } from "../pipeline/poll/day-read.ts";
import { readToday } from "../pipeline/poll/one-read.ts";
import type { ComparedConfiguration } from "./configuration.ts";
import { causeOfSilence, SILENT_MAX, type SilentRead } from "./doctor-silent.ts";
import { checkZone } from "./doctor-zone.ts";
import type { Finding } from "./finding.ts";
import { openGateway } from "./gateway-access.ts";
import { duration } from "./times.ts";

const FEATURE_SPECS: readonly FeatureSpec[] = SPECS;

/**
 * A gateway that accepts connections but never responds is not waited for once per sensor: at most this many timeouts.
 */
const SILENCE_TIMEOUTS_MAX = 4;

/** Codes in one line. */
const NAMED_MAX = 20;

/** Reads the current day of every sensor and kind once. */
export async function checkGateway(
  configuration: ComparedConfiguration,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<{ readonly skewMs: number | null; readonly isLost: boolean }> {
  const { settings, site } = configuration;
  const gateway = await openGateway(configuration);
  const reads: { sensor: Sensor; kind: PolledKind }[] = site.sensors
    .filter(isRead)
    .flatMap((sensor) => sensor.kinds.map((kind) => ({ sensor, kind })));
  const notRead = site.sensors.filter((sensor) => !isRead(sensor)).map(({ code }) => code);
  if (notRead.length > 0)
    found({
      what: "sensors",
      state: "skipped",
      detail: `${notRead.length} not read, "enabled" is false in the site file: ${notRead.slice(0, NAMED_MAX).join(", ")}${notRead.length > NAMED_MAX ? ", …" : ""}`,
    });
  const readsTotal = reads.length;
  let reported = 0;
  let isReached = false;
  let isLost = false;
  let refusals = 0;
  let usable = 0;
  let responded = 0;
  let untried = 0;
  const newestOfEach: Reading[] = [];
  const silent: SilentRead[] = [];
  const patienceEndsAt = systemClock.monotonic() + SILENCE_TIMEOUTS_MAX * settings.gatewayTimeoutMs;
  const today = () => dayOf(gateway.clock.now(), settings.gatewayTimezone);
  const work = async (): Promise<void> => {
    for (let read = reads.shift(); read !== undefined; read = reads.shift()) {
      const { sensor, kind } = read;
      const { day, result, count, newest } = await readToday(gateway, read, today, signal);
      if (signal.aborted) return;
      if (!result.ok && result.isGatewayFault) {
        // One line for the gateway, not one for each of its sensors.
        if (!isLost)
          found({
            what: "gateway",
            state: "failed",
            detail: `${settings.gatewayUrl}: ${result.message}${result.message.includes("GATEWAY_URL") ? "" : `; ${remedyOf(result.failureClass)}`}`,
          });
        isLost = true;
        reads.length = 0;
        return;
      }
      reported += 1;
      if (!result.ok) {
        refusals += 1;
        if (!isReached && systemClock.monotonic() > patienceEndsAt)
          untried += reads.splice(0).length;
      } else if (!isReached) {
        isReached = true;
        found({ what: "gateway", state: "ok", detail: `${settings.gatewayUrl} responds` });
      }
      const what = `${sensor.code} ${kind}`;
      if (result.ok) responded += 1;
      if (result.ok && newest !== null) {
        usable += 1;
        // Samples are only kept of those that bands are checked of.
        newestOfEach.push(sensor.bands === undefined ? { ...newest, waveform: null } : newest);
      }
      if (!result.ok) found({ what, state: "failed", detail: result.message });
      else if (newest === null && result.rejected?.count) {
        const detail = `no usable record on ${day}: ${rejectedText(result.rejected)}`;
        found({ what, state: "warning", detail });
      } else if (newest === null) silent.push({ sensor, kind, day });
      else {
        const age = duration(gateway.clock.now() - newest.timeMs);
        const doubts = Object.entries(newest.quality).map(([name, d]) => `${name} ${d.reason}`);
        const detail = `${count} records on ${day}, newest ${age} old${doubts.length > 0 ? `; ${doubts.join(", ")}` : ""}`;
        found({ what, state: doubts.length > 0 ? "warning" : "ok", detail });
      }
    }
  };
  try {
    // The first read runs alone, so that a gateway that is waking up, or down, is met once.
    const rest = reads.splice(1);
    await work();
    reads.push(...(isLost ? [] : rest));
    await Promise.all(Array.from({ length: settings.gatewayConcurrency }, work));
    if (isLost && !signal.aborted) {
      const skipped = readsTotal - reported;
      const detail = `${skipped} of ${readsTotal} reads not tried: fix the gateway first`;
      if (skipped > 0) found({ what: "sensors", state: "skipped", detail });
    }
    // Something responds, but never as a gateway does: a router's page, a proxy, another service.
    if (refusals > 0 && !isReached && !isLost && !signal.aborted)
      found({
        what: "gateway",
        state: "failed",
        detail: `${settings.gatewayUrl} returned no valid response for any sensor; check that it is the gateway's address and ${settings.gatewayService} is its service (GATEWAY_SERVICE)${settings.gatewayUrl.startsWith("http:") ? ". A port that requires TLS closes http:// connections: use https:// for it" : ""}${untried > 0 ? ` (${untried} reads not tried)` : ""}`,
      });
    for (const [i, read] of silent.entries()) {
      if (signal.aborted) break;
      const cause =
        i < SILENT_MAX && !isLost
          ? await causeOfSilence(gateway, site, read, signal)
          : "if the sensor should have sent one, check that its code is right and that it is on and paired";
      const { sensor, kind, day } = read;
      const detail = `no usable record on ${day} yet; ${cause}`;
      found({ what: `${sensor.code} ${kind}`, state: "warning", detail });
    }
    if (responded > 0 && usable === 0 && !isLost && !signal.aborted) {
      const { gatewayTimezone } = settings;
      found({
        what: "sensors",
        state: "failed",
        detail: `the gateway responds, but has no usable record of any sensor on ${today()}; check that this is the current day in the gateway's time zone (GATEWAY_TIMEZONE, ${gatewayTimezone} is in effect) and that WIRE_WORD is the word in the vendor's names, then type, kinds and code in the site file; gateside probe shows one response in full`,
      });
    }
    checkZone(settings.gatewayTimezone, newestOfEach, found);
    for (const spec of FEATURE_SPECS)
      for (const one of (await spec.doctorNewest?.(site, newestOfEach)) ?? []) found(one);
    return { skewMs: gateway.clock.skewMs, isLost };
  } finally {
    await gateway.client.close();
  }
}

/** Where to look if no sensor could be read. */
function remedyOf(failureClass: FailureClass): string {
  return failureClass === "configuration"
    ? "check that GATEWAY_CA_FILE is the CA that signed its certificate, and that the certificate is for the host in GATEWAY_URL"
    : "check that the gateway is powered and on this network, and that GATEWAY_URL is its address";
}

/** Current faults in plain words with the remedy: what the dashboard and `status` show. */
import { type AgentStatus, isUnreadable, isUntried, type SensorState } from "../agent-status.ts";
import type { FailureClass } from "../failure.ts";
import { nameAtStart } from "../sensor-names.ts";
import type { Site } from "../site.ts";
import { HOURS_LEFT_MIN, SKEW_MAX_MS } from "../status/box-fault.ts";
import { certificateTitle, endingText } from "../status/certificate.ts";
import { SILENT_AFTER_INTERVALS, UNKNOWN_CADENCE_MS } from "../status/silence.ts";
import { holdText } from "../status/store-hold.ts";
import { configurationFaults } from "./configuration-faults.ts";
import type { Fault } from "./fault.ts";
import { linkFaults } from "./link-faults.ts";

const GATEWAY_REMEDY: Readonly<Record<FailureClass, string>> = {
  transient:
    "Check that the gateway is powered and reachable from this box (ping it), and that GATEWAY_URL is its address.",
  request:
    "The gateway does not know the request: check GATEWAY_URL, GATEWAY_SERVICE and WIRE_WORD, then the sensor's type.",
  configuration:
    "The gateway refuses this box: check GATEWAY_HEADERS, a proxy in between, and the certificate (GATEWAY_CA_FILE).",
  service_status:
    "The gateway returned its own error number. If this number means a day without records, add it to GATEWAY_EMPTY_STATUSES.",
  not_json:
    "Something other than the gateway's service responds at this address, often a login page: check GATEWAY_URL and GATEWAY_SERVICE.",
  truncated:
    "Responses arrive truncated: check the network path and any proxy with a size or time limit.",
  too_large:
    "The response for one day exceeds GATEWAY_MAX_BODY_MB: raise that limit, or configure the sensor to send less often.",
  aborted: "The agent was stopping; nothing to do.",
};

export function currentFaults(status: AgentStatus, site: Site): Fault[] {
  return [
    ...gatewayFaults(status),
    ...linkFaults(status),
    ...bufferFaults(status),
    ...engineFaults(status),
    ...clockFaults(status),
    ...certificateFaults(status),
    ...setAsideFaults(status),
    ...configurationFaults(status),
    ...sensorFaults(status, site),
  ];
}

function gatewayFaults({ gateway }: AgentStatus): Fault[] {
  if (gateway.isUp || isUntried(gateway)) return [];
  return [
    {
      code: "gateway_down",
      severity: "error",
      subject: "gateway",
      what: `The gateway does not respond correctly${gateway.lastError === null ? "" : `: ${gateway.lastError}`}. Missed days are read when it is back.`,
      remedy: GATEWAY_REMEDY[gateway.lastErrorClass ?? "transient"],
      sinceMs: gateway.lastAnswerAtMs,
    },
  ];
}

function bufferFaults({ buffer }: AgentStatus): Fault[] {
  const faults: Fault[] = [];
  const add = (code: string, severity: Fault["severity"], what: string, remedy: string): void => {
    faults.push({ code, severity, subject: "buffer", what, remedy, sinceMs: null });
  };
  if (buffer.held !== undefined) {
    add(
      "store_held",
      buffer.isWritable ? "warning" : "error",
      `${buffer.alarm ?? holdText(buffer.held)}.`,
      "End that program, or let it read in shorter pieces: the log of the store cannot be shortened meanwhile.",
    );
  } else if (buffer.alarm !== null) {
    add(
      "buffer_alarm",
      "error",
      buffer.alarm,
      `${buffer.isWritable ? "If this stands for long, check" : "Check"} the disk: free space, read-only state, and the system's log for I/O errors.`,
    );
  } else if (!buffer.isWritable) {
    add(
      "buffer_read_only",
      "error",
      "The buffer cannot be written.",
      "Free space on the disk of DATA_DIR and check that it is writable for this user.",
    );
  }
  if (buffer.hoursUntilFull !== null && buffer.hoursUntilFull < HOURS_LEFT_MIN) {
    add(
      "buffer_nearly_full",
      "warning",
      `At the current rate the buffer has room for ${Math.max(0, Math.floor(buffer.hoursUntilFull))} more hours of an outage.`,
      "Restore the connection to the broker, or raise BUFFER_MAX_MB if the disk allows it. To free space, lower WAVEFORM_DAYS or HISTORY_DAYS.",
    );
  }
  if (buffer.kept.isFull) {
    add(
      "kept_full",
      "warning",
      `Pins, baselines and the first measurements of alarms fill the room for kept measurements (${(buffer.kept.limitBytes / 2 ** 20).toFixed(0)} MB): new ones are not kept.`,
      "Remove pins that are no longer needed, or raise BUFFER_MAX_MB.",
    );
  }
  const dropped = Object.entries(buffer.dropped).filter(([, count]) => count > 0);
  if (dropped.length > 0) {
    add(
      "readings_dropped",
      "warning",
      `Readings were dropped: ${dropped.map(([reason, count]) => `${count} (${reason.replaceAll("_", " ")})`).join(", ")}.`,
      "See the gaps for sensors and times. Raise BUFFER_MAX_MB or shorten outages to keep more.",
    );
  }
  return faults;
}

const UNTOLD = {
  alarms: "alarms are not judged",
  diagnosis: "findings are not looked for",
  bands: "no bands are made",
};

function engineFaults({ alarmFailures = [] }: AgentStatus): Fault[] {
  return alarmFailures.map(({ engine, lastError, sinceMs }) => ({
    code: "alarms_failing",
    severity: "error",
    subject: engine,
    what: `Readings are stored, but of some of them ${UNTOLD[engine]}: ${lastError}.`,
    remedy:
      "If the buffer has a fault too, mend that first. Otherwise the log names the sensor and the place in the program: report both.",
    sinceMs,
  }));
}

function setAsideFaults({ daysSetAside }: AgentStatus): Fault[] {
  return daysSetAside.map(({ sensor, kind, day, times, sinceMs, untilMs }) => ({
    code: "day_set_aside",
    severity: "error",
    subject: sensor,
    what: `The agent stopped unexpectedly ${times === 1 ? "once" : `${times} times`} while reading ${kind} of ${day}. The day is set aside until ${new Date(untilMs).toISOString()}; all other days are read.`,
    remedy: `If the power failed at that time, there is nothing to do. Otherwise read the day now with gateside backfill --sensor ${sensor} --from ${day} --to ${day}, and report the result.`,
    sinceMs,
  }));
}

function clockFaults({ clock }: AgentStatus): Fault[] {
  const faults: Fault[] = [];
  if (!clock.isPlausible) {
    faults.push({
      code: "clock_implausible",
      severity: "error",
      subject: "clock",
      what: "This box's clock shows an impossible time.",
      remedy: "Set the clock (timedatectl) and configure a time server that the box can reach.",
      sinceMs: null,
    });
  }
  if (clock.skewMs !== null && Math.abs(clock.skewMs) > SKEW_MAX_MS) {
    const minutes = Math.round(Math.abs(clock.skewMs) / 60_000);
    faults.push({
      code: "clock_skew",
      severity: "warning",
      subject: "clock",
      what: `The gateway's clock is ${minutes} min ${clock.skewMs > 0 ? "ahead of" : "behind"} this box's.`,
      remedy:
        "Correct the clock that is wrong. Readings keep the gateway's times; the agent never corrects them.",
      sinceMs: null,
    });
  }
  return faults;
}

function certificateFaults({ certificates }: AgentStatus): Fault[] {
  return certificates.flatMap((certificate): Fault[] => {
    const { state, setting, isRenewedByRestart } = certificate;
    if (state === "valid") return [];
    const title = certificateTitle(certificate);
    const file = isRenewedByRestart
      ? "Renew it, and restart the agent: its file is systemd's copy of the start."
      : "Renew it in its file, which the agent reads again.";
    return [
      {
        code: `certificate_${state}`,
        severity: state === "ended" ? "error" : "warning",
        subject: "certificate",
        what: `${title[0]?.toUpperCase()}${title.slice(1)} ${endingText(certificate)}.`,
        remedy: setting === null ? "Whoever runs the broker must renew it." : file,
        sinceMs: state === "ended" ? certificate.untilMs : null,
      },
    ];
  });
}

/**
 * While the gateway does not respond, it is unknown what a sensor sends: one that was overdue before is reported; one
 * that became due since is not, or the gateway's outage would send people to every sensor's battery. So it is while the
 * reads of one sensor fail.
 */
function isSilenceKnown({ gateway }: AgentStatus, sensor: SensorState): boolean {
  if (gateway.isUp) return !isUnreadable(sensor);
  if (gateway.lastAnswerAtMs === null) return true;
  // Times of readings are the gateway's.
  const lastAnswerMs = gateway.lastAnswerAtMs + (gateway.skewMs ?? 0);
  return sensor.kinds.every(({ lastReadingMs, cadenceS }) => {
    const cadenceMs = cadenceS === null ? UNKNOWN_CADENCE_MS : cadenceS * 1000;
    const overdueMs = SILENT_AFTER_INTERVALS * cadenceMs;
    return lastReadingMs === null || lastAnswerMs - lastReadingMs > overdueMs;
  });
}

function sensorFaults(status: AgentStatus, site: Site): Fault[] {
  const faults: Fault[] = [];
  const configured = new Map(site.sensors.map((sensor) => [sensor.code, sensor]));
  for (const sensor of status.sensors) {
    const name = nameAtStart(configured.get(sensor.code) ?? { code: sensor.code }, site);
    if (sensor.state === "silent" && isSilenceKnown(status, sensor)) {
      faults.push({
        code: "sensor_silent",
        severity: "warning",
        subject: sensor.code,
        what: `${name} has sent nothing for more than three of its intervals.`,
        remedy:
          "Check its battery and its radio path to the gateway; then look up the sensor on the gateway's own page.",
        sinceMs: sensor.lastReadingMs,
      });
    }
    const limitV = configured.get(sensor.code)?.batteryLowV;
    if (limitV !== undefined && sensor.batteryV !== null && sensor.batteryV < limitV) {
      faults.push({
        code: "battery_low",
        severity: "warning",
        subject: sensor.code,
        what: `The battery of ${name} is at ${sensor.batteryV} V, below its limit of ${limitV} V.`,
        remedy: "Replace the battery soon.",
        sinceMs: null,
      });
    }
    for (const { kind, lastError } of sensor.kinds) {
      // While the gateway is down every read fails; that is one fault, not one per sensor.
      if (lastError === null || !status.gateway.isUp) continue;
      faults.push({
        code: "read_failing",
        severity: "warning",
        subject: sensor.code,
        what: `Reading ${kind} of ${name} fails: ${lastError}.`,
        remedy:
          "Check the sensor's code, type and kinds in the site file; `gateside probe` shows one read in full.",
        sinceMs: null,
      });
    }
  }
  return faults;
}

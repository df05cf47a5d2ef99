/** Faults of the box itself, which nobody would notice from readings that do not come (plant section 23). */
import { type AgentStatus, isUntried } from "../agent-status.ts";
import { type CertificateState, certificateTitle, endingText } from "./certificate.ts";

export interface BoxFault {
  readonly value:
    | "gateway"
    | "uplink"
    | "store"
    | "disk"
    | "clock"
    | "certificate"
    | "http"
    | "modbus";
  /** Of a fault of an uplink. */
  readonly uplink?: string;
  readonly severity: "warning" | "alarm";
  readonly text: string;
}

/** Less room than this for an outage, h. */
export const HOURS_LEFT_MIN = 24;
/** Beyond this the gateway's clock and ours cannot both be right (services section 5 "Clock"). */
export const SKEW_MAX_MS = 5 * 60_000;

type Seen = Pick<AgentStatus, "gateway" | "links" | "buffer" | "clock" | "certificates" | "http">;

export const because = (error: string | null) => (error === null ? "" : `: ${error}`);

/** Those that stand now. */
export function boxFaults({ gateway, links, buffer, clock, certificates, http }: Seen): BoxFault[] {
  const faults: BoxFault[] = [];
  if (!gateway.isUp && !isUntried(gateway))
    faults.push({
      value: "gateway",
      severity: "alarm",
      text: `The gateway does not respond${because(gateway.lastError)}. Missed days are read when it is back.`,
    });
  for (const uplink of new Set(links.map((link) => link.uplink))) {
    const [text] = links
      .filter((link) => link.uplink === uplink)
      .flatMap((link) => uplinkText(link) ?? []);
    if (text !== undefined) faults.push({ value: "uplink", uplink, severity: "alarm", text });
  }
  if (!buffer.isWritable)
    faults.push({
      value: "store",
      severity: "alarm",
      text: `The buffer cannot be written${because(buffer.alarm)}. Nothing new is stored until it can.`,
    });
  else if (buffer.alarm !== null)
    faults.push({
      value: "store",
      severity: "alarm",
      text: `The buffer is not well: ${buffer.alarm}.`,
    });
  else if (buffer.hoursUntilFull !== null && buffer.hoursUntilFull < HOURS_LEFT_MIN)
    faults.push({
      value: "disk",
      severity: "warning",
      text: `At the current rate the buffer has room for ${Math.max(0, Math.floor(buffer.hoursUntilFull))} more hours of an outage.`,
    });
  if (!clock.isPlausible || Math.abs(clock.skewMs ?? 0) > SKEW_MAX_MS)
    faults.push({
      value: "clock",
      severity: "warning",
      text: clock.isPlausible
        ? `The box's clock and the gateway's differ by ${Math.round(Math.abs(clock.skewMs ?? 0) / 60_000)} minutes.`
        : "The box's clock is not set.",
    });
  if (http.lastError !== null)
    faults.push({
      value: "http",
      severity: "warning",
      text: `The box's pages cannot be reached: ${http.lastError}. Readings are still collected and published.`,
    });
  return [...faults, ...certificateFaults(certificates)];
}

/** Null for a session that delivers all there is. */
function uplinkText({
  uplink,
  isConnected,
  lastError,
  hostOnline,
  stolen,
  refused,
  otherAgent,
}: AgentStatus["links"][number]): string | null {
  if (stolen) return `The session of the uplink ${uplink} is ${stolen}.`;
  const why = isConnected ? ": primary host offline" : because(lastError);
  if (!isConnected || hostOnline === false)
    return `The uplink ${uplink} does not deliver${why}. Readings wait in the buffer.`;
  const trouble = refused?.text ?? otherAgent ?? null;
  return trouble === null ? null : `The uplink ${uplink} is connected, but not well: ${trouble}`;
}

/** One for each uplink, and one for the box's own. */
function certificateFaults(certificates: readonly CertificateState[]): BoxFault[] {
  const due = certificates.filter(({ state }) => state !== "valid");
  return [...new Set(due.map(({ uplink }) => uplink))].map((uplink) => {
    const own = due.filter((one) => one.uplink === uplink);
    const lines = own.map((one) => `${certificateTitle(one)} ${endingText(one)}`);
    return {
      value: "certificate",
      ...(uplink === "" ? {} : { uplink }),
      severity: own.some(({ state }) => state === "ended") ? "alarm" : "warning",
      text: `A certificate must be renewed: ${lines.join("; ")}.`,
    };
  });
}

/** Tells faults apart. */
export function boxFaultKey({ value, uplink }: BoxFault): string {
  return uplink === undefined ? value : `${value} ${uplink}`;
}

/** How long certificates last, and when that is a fault (plant section 23). */
import { INTEGER, list, MS, type Of, object, oneOf, orNull, TEXT, YES_NO } from "../schema.ts";
import { DAY_MS } from "../time-units.ts";

/** One certificate of a chain, or of a file. `subject`: its common name, or all of its subject where there is none. */
const CERTIFICATE = { subject: TEXT, fingerprint: TEXT, fromMs: MS, untilMs: MS };
export const CERTIFICATES = list(object(CERTIFICATE));
export type Certificate = Of<typeof CERTIFICATES>[number];

/** One that the agent depends on. */
export const CERTIFICATE_STATE = object({
  uplink: { ...TEXT, description: "Empty for the box's own." },
  file: { ...TEXT, description: "Base name of the file; `broker` for the broker's." },
  setting: { ...orNull(TEXT), description: "What names the file." },
  ...CERTIFICATE,
  fingerprint: { ...TEXT, description: "SHA-256." },
  daysLeft: { ...INTEGER, description: "Negative once it has ended." },
  state: oneOf(["valid", "ending", "ended"]),
  isRenewedByRestart: YES_NO,
});
export type CertificateState = Of<typeof CERTIFICATE_STATE>;

/** From then on it is a fault; sooner for certificates that live shorter. */
const NOTICE_MS = 14 * DAY_MS;
const NOTICE_SHARE = 1 / 3;

export function endingOf(
  { fromMs, untilMs }: Pick<Certificate, "fromMs" | "untilMs">,
  nowMs: number,
): Pick<CertificateState, "daysLeft" | "state"> {
  const leftMs = untilMs - nowMs;
  const noticeMs = Math.min(NOTICE_MS, (untilMs - fromMs) * NOTICE_SHARE);
  return {
    daysLeft: Math.floor(leftMs / DAY_MS),
    state: leftMs <= 0 ? "ended" : leftMs <= noticeMs ? "ending" : "valid",
  };
}

/** The one that ends first. */
export function firstToEnd<T extends Pick<Certificate, "untilMs">>(all: readonly T[]): T | null {
  return all.reduce<T | null>(
    (first, one) => (first === null || one.untilMs < first.untilMs ? one : first),
    null,
  );
}

/** “the broker's certificate”, “ca.pem (MQTT_CA_FILE)”. */
export function certificateTitle({ file, setting, uplink }: CertificateState): string {
  const where = uplink === "" || uplink === "main" ? "" : ` of the uplink ${uplink}`;
  return setting === null ? `the broker's certificate${where}` : `${file} (${setting}${where})`;
}

/** “ends in 12 days, on 2026-12-05”. */
export function endingText(certificate: CertificateState): string {
  const { daysLeft, state, untilMs, isRenewedByRestart } = certificate;
  const day = new Date(untilMs).toISOString().slice(0, 10);
  const left = daysLeft === 1 ? "1 day" : `${daysLeft} days`;
  const restart = isRenewedByRestart ? "; renewed by a restart" : "";
  if (state === "ended") return `ended on ${day}${restart}`;
  return `ends in ${daysLeft < 1 ? "less than a day" : left}, on ${day}${restart}`;
}

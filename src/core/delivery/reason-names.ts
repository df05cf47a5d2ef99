/** The label of a quota that is used up. */
export const QUOTA_EXCEEDED = "quota_exceeded";

/** MQTT 5 reason codes ≥ 0x80 and 0x10 as metric labels; MQTT 3.1.1 has none of them in a PUBACK. */
const REASON_NAMES: Readonly<Record<number, string>> = {
  0x10: "no_subscriber",
  0x80: "unspecified",
  0x83: "implementation_specific",
  0x87: "not_authorized",
  0x90: "topic_invalid",
  0x91: "packet_id_in_use",
  0x93: "receive_maximum_exceeded",
  0x95: "packet_too_large",
  0x97: QUOTA_EXCEEDED,
  0x99: "payload_invalid",
  0x9a: "retain_not_supported",
  0x9b: "qos_not_supported",
};

/** The label of a refused publish's reason code. */
export function reasonName(code: number): string {
  return REASON_NAMES[code] ?? `reason_0x${code.toString(16).padStart(2, "0")}`;
}

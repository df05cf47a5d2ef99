import type { IConnackPacket } from "mqtt-packet";

const NEEDS_MQTT_5 = "the broker does not support MQTT 5";
export const CLOSED = "the broker closed the connection";
/** RabbitMQ 3.10 does so. */
export const CLOSED_UNANSWERED = `${CLOSED} without an answer, as one does that does not support MQTT 5`;

/** True if the broker may support MQTT 3.1.1 instead; some close the connection without an answer to a newer one. */
export function isVersionRefusal(error: unknown): boolean {
  return (
    error instanceof Error && [NEEDS_MQTT_5, CLOSED].some((text) => error.message.includes(text))
  );
}

/** Numbers below 0x80 are those of MQTT 3.1.1, which a broker of that version answers with. */
const REFUSALS: Readonly<Record<number, string>> = {
  1: NEEDS_MQTT_5,
  2: "the broker does not accept the client id",
  3: "the broker is unavailable",
  4: "user name or password is wrong",
  5: "not authorised",
  0x84: NEEDS_MQTT_5,
  0x85: "the broker does not accept the client id",
  0x86: "user name or password is wrong",
  0x87: "not authorised",
  0x8a: "banned",
};

/** Of a CONNACK. */
export function connectRefusal(code: number): string {
  return `refused: ${REFUSALS[code] ?? `reason code ${code}`}`;
}

/** What a collector needs of a broker and this one lacks, by its CONNACK; null if nothing is. */
export function lackOf(properties: IConnackPacket["properties"]): string | null {
  const { sharedSubscriptionAvailable, wildcardSubscriptionAvailable, maximumQoS } =
    properties ?? {};
  const missing = [
    ...(sharedSubscriptionAvailable === false ? ["shared subscriptions"] : []),
    ...(wildcardSubscriptionAvailable === false ? ["subscriptions with wildcards"] : []),
    ...(maximumQoS === 0 ? ["QoS 1"] : []),
  ];
  return missing.length === 0 ? null : `the broker does not support ${missing.join(" and ")}`;
}

/** The error, with what follows from it if the broker cannot serve a collector at all. */
export function collectorRefusal(error: unknown): unknown {
  if (!(error instanceof Error) || !error.message.includes("does not support")) return error;
  return new Error(
    `${error.message}; over mqtt:// a collector needs MQTT 5 with shared subscriptions, wildcards and QoS 1 (with RabbitMQ, use amqp://)`,
    { cause: error },
  );
}

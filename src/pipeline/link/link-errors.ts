/** The broker's refusals in words an operator can act on. Only `said` is the broker's own text. */

import { triedAddresses } from "../../core/addresses/tried-addresses.ts";
import { inUplinkWords } from "../../core/delivery/uplink-words.ts";
import { codeOf, messageOf } from "../../core/thrown.ts";
import type { MqttLinkOptions } from "./link-options.ts";

/** Why a session was not opened or did not last. */
export interface LinkFailure {
  readonly text: string;
  /** True if it will not recover by itself: logged as an error instead of a warning. */
  readonly needsHands: boolean;
  /** The reason string of MQTT 5, as received: text from outside, which may contain what was sent to the broker. */
  readonly brokerText?: string;
}

const hands = (text: string): LinkFailure => ({ text, needsHands: true });
const transient = (text: string): LinkFailure => ({ text, needsHands: false });

const USE_ANOTHER =
  "the broker sends its clients to another server for now: set MQTT_URL to that server, or wait";
const MOVED = "the broker has moved to another server: set MQTT_URL to that server";

/** A CONNACK other than success: MQTT 3.1.1 codes 1–5, MQTT 5 reason codes. */
export function connackFailure(code: number, clientId: string): LinkFailure {
  switch (code) {
    case 1:
    case 0x84:
      return hands("the broker does not speak this protocol version: set MQTT_VERSION to 4");
    case 2:
    case 0x85:
      return hands(
        `the broker does not accept the client id "${clientId}": set another MQTT_CLIENT_ID`,
      );
    case 4:
    case 0x86:
      return hands(
        "the broker refuses the user name or password: check MQTT_USERNAME and MQTT_PASSWORD",
      );
    case 5:
    case 0x87:
      return hands(
        "the broker does not authorise this client: check MQTT_USERNAME, MQTT_PASSWORD, MQTT_CLIENT_ID (rights.sh binds a user to one) and the broker's access list",
      );
    case 0x80:
      return transient("the broker refused the session and gives no reason (0x80): see its log");
    case 0x81:
    case 0x82:
      return hands(
        `the broker takes our CONNECT for ${code === 0x81 ? "malformed" : "a protocol error"}: try MQTT_VERSION 4, and check what stands between the agent and the broker`,
      );
    case 0x83:
      return hands(
        "the broker refused the session for a rule of its own (0x83): its log and its limits for clients say which",
      );
    case 0x8a:
      return hands("the broker has banned this client: lift the ban there");
    case 0x95:
      return hands(
        "the broker takes our CONNECT for too large: raise its packet limit (mosquitto: max_packet_size)",
      );
    case 0x97:
      return hands(
        "a quota of the broker is used up, such as its number of clients: raise it, or end clients that are not needed",
      );
    case 0x99:
      return hands("the broker does not accept the payload of the will");
    case 0x9b:
      return hands("the broker takes QoS 0 only, which confirms nothing: use one that takes QoS 1");
    case 0x8c:
      return hands(
        "the broker requires an authentication method other than user name and password",
      );
    case 0x90:
      return hands("the broker does not accept the topic of the will: check MQTT_TOPIC_PREFIX");
    case 0x9a:
      return transient("the broker does not support retained messages and refuses a retained will");
    case 0x9c:
      return hands(USE_ANOTHER);
    case 0x9d:
      return hands(MOVED);
    case 3:
    case 0x88:
      return transient("the broker is not available");
    case 0x89:
      return transient("the broker is busy");
    case 0x9f:
      return transient("the broker limits the rate of new connections");
    default:
      return transient(`the broker refused the session (reason 0x${code.toString(16)})`);
  }
}

/** A failure in the words of the uplink's own configuration, with what a file below $CREDENTIALS_DIRECTORY needs. */
export function inOperatorWords(
  text: string,
  { uplink, restartFiles = [] }: Partial<Pick<MqttLinkOptions, "uplink" | "restartFiles">>,
): string {
  const isNamed = (setting: string) => text.includes(setting.replace(/_FILE$/, ""));
  const copies = restartFiles.filter(isNamed);
  const whole =
    copies.length === 0
      ? text
      : `${text}; ${copies.join(" and ")}: a copy below $CREDENTIALS_DIRECTORY, renewed by a restart`;
  return uplink === undefined ? whole : inUplinkWords(whole, uplink);
}

/** A DISCONNECT sent by an MQTT 5 broker. */
export function disconnectFailure(code: number, clientId: string): LinkFailure {
  switch (code) {
    case 0x00:
      return transient("the broker ended the session without a fault");
    case 0x04:
      return transient("the broker ended the session and publishes the will");
    case 0x80:
      return transient("the broker ended the session and gives no reason (0x80): see its log");
    case 0x81:
    case 0x82:
      return transient(
        `the broker ended the session: it takes a packet for ${code === 0x81 ? "malformed" : "a protocol error"}; if it happens again, try MQTT_VERSION 4`,
      );
    case 0x83:
      return transient(
        "the broker ended the session for a rule of its own (0x83): see its log and its limits for clients",
      );
    case 0x87:
      return hands("the broker ended the session: this client is no longer authorised");
    case 0x8b:
      return transient("the broker is shutting down");
    case 0x8d:
      return transient("the broker received nothing from the agent within the keep-alive time");
    case 0x8e:
      return takenOver(clientId);
    case 0x8f:
      return hands(
        "the broker ended the session: it does not accept a topic filter; check MQTT_TOPIC_PREFIX and the broker's rules for subscriptions",
      );
    case 0x94:
      return transient("the broker ended the session: it does not accept a topic alias");
    case 0x99:
      return hands(
        "the broker ended the session: it checks payloads, and does not accept one as the text it was announced as",
      );
    case 0x9e:
    case 0xa1:
    case 0xa2:
      return hands(
        `the broker ended the session: it does not support ${code === 0x9e ? "shared subscriptions" : code === 0xa1 ? "subscription identifiers" : "wildcards in subscriptions"}`,
      );
    case 0x90:
      return hands(
        "the broker ended the session: it does not accept a topic; check MQTT_TOPIC_PREFIX and the broker's rules for topics",
      );
    case 0x93:
      return transient("the broker reported that its receive maximum was exceeded");
    case 0x95:
      return transient(
        "the broker ended the session: a packet was larger than it accepts; the message is held back, and the rest goes on; raise its limit (mosquitto: max_packet_size or message_size_limit; EMQX: max_packet_size; RabbitMQ: max_message_size)",
      );
    case 0x96:
    case 0x97:
      return hands(
        `the broker ended the session: ${code === 0x96 ? "too many messages in a short time" : "a quota of this client is exceeded"}; fewer a second are sent for an hour: raise the broker's limit if the backlog grows`,
      );
    case 0x98:
      return transient("the broker's administrator ended the session");
    case 0x9a:
      return transient("the broker does not support retained messages");
    case 0x9b:
      return hands("the broker takes QoS 0 only, which confirms nothing: use one that takes QoS 1");
    case 0x9c:
      return hands(USE_ANOTHER);
    case 0x9d:
      return hands(MOVED);
    case 0x89:
      return transient("the broker is busy");
    case 0x9f:
      return transient("the broker limits the rate of new connections");
    case 0xa0:
      return transient("the broker limits how long a session may last");
    default:
      return transient(`the broker ended the session (reason 0x${code.toString(16)})`);
  }
}

export function takenOver(clientId: string): LinkFailure {
  return hands(
    `another client uses the client id "${clientId}" and took the session over: give each agent its own MQTT_CLIENT_ID`,
  );
}

const TLS_REMEDIES: Readonly<Record<string, string>> = {
  SELF_SIGNED_CERT_IN_CHAIN:
    "the broker's certificate is signed by an unknown CA: MQTT_CA_FILE must contain that CA",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "the broker's certificate is self-signed: MQTT_CA_FILE must contain it or its CA",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "the broker's certificate is not signed by a known CA: MQTT_CA_FILE must contain its CA",
  UNABLE_TO_GET_ISSUER_CERT:
    "the broker's certificate is not signed by a known CA: MQTT_CA_FILE must contain its CA",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "the broker's certificate is not signed by a known CA: MQTT_CA_FILE must contain its CA",
  CERT_SIGNATURE_FAILURE:
    "the broker's certificate is not signed by the CA in MQTT_CA_FILE: check that file",
  CERT_HAS_EXPIRED: "the broker's certificate has expired (or this machine's clock is wrong)",
  CERT_NOT_YET_VALID: "the broker's certificate is not valid yet: check this machine's clock",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "the broker's certificate is for another host name than the one in MQTT_URL",
  EPROTO: "the broker does not speak TLS on that port: check scheme and port of MQTT_URL",
};

/** A failure below MQTT: name look-up, TCP, TLS, web socket, or mqtt.js itself; with the addresses that were tried. */
export function transportFailure(err: unknown): LinkFailure {
  const failure = failureBelow(err);
  return { ...failure, text: `${failure.text}${triedAddresses(err)}` };
}

function failureBelow(err: unknown): LinkFailure {
  const code = codeOf(err);
  if (typeof code === "string") {
    if (err instanceof Error && /no application protocol/i.test(err.message))
      return hands("the broker speaks none of the protocols offered to it: check MQTT_ALPN");
    if (code.startsWith("ERR_SSL_") && code.includes("ALERT")) {
      return hands(
        "the broker refused our TLS client certificate, or requires one: check MQTT_CERT_FILE and MQTT_KEY_FILE",
      );
    }
    if (code.startsWith("ERR_SSL_WRONG_VERSION")) return hands(TLS_REMEDIES["EPROTO"] ?? code);
    if (code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH")
      return hands(
        "MQTT_KEY_FILE is not the key of MQTT_CERT_FILE; while both are being renewed, the next attempt reads them again",
      );
    if (code.startsWith("ERR_OSSL_"))
      return hands(
        `a certificate or key cannot be used (${code}): check MQTT_CA_FILE, MQTT_CERT_FILE and MQTT_KEY_FILE`,
      );
    const remedy = TLS_REMEDIES[code];
    if (remedy !== undefined) return hands(remedy);
    switch (code) {
      case "ECONNREFUSED":
        return transient("nothing accepts connections at that address and port");
      case "ENOTFOUND":
      case "EAI_AGAIN":
        return transient("the broker's host name cannot be resolved");
      case "ETIMEDOUT":
      case "EHOSTUNREACH":
      case "ENETUNREACH":
        return transient("the broker cannot be reached over the network");
      case "ECONNRESET":
      case "EPIPE":
        return transient(
          "the connection was reset; if it never succeeds, check that the scheme and port of MQTT_URL match",
        );
      default:
        return transient(`the connection failed (${code})`);
    }
  }
  const message = messageOf(err);
  if (message === "connack timeout") {
    return transient("the broker accepted the connection but did not respond to CONNECT in time");
  }
  if (message === "Keepalive timeout") {
    return transient("nothing was received from the broker within the keep-alive time");
  }
  // mqtt-packet's message for bytes that are not MQTT: a web server, or TLS on a plain port.
  if (/^(Invalid header flag|Cannot parse|Malformed|Invalid protocol)/.test(message)) {
    return hands(
      "the server at that address does not speak MQTT: check scheme, host and port of MQTT_URL",
    );
  }
  return transient(message);
}

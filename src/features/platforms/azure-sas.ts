/**
 * The password of a device at Azure IoT Hub: a token that is signed with the device's key and expires
 * (learn.microsoft.com, azure/iot-hub/authenticate-authorize-sas "SAS token structure"). The hub ends the session when
 * the token expires, so it is renewed before.
 */
import { createHmac } from "node:crypto";

/** Lifetime of one token, s. */
export const SAS_LIFETIME_S = 4 * 3600;
/**
 * A new session with a new token starts this long before the old one expires, s: clocks differ, and a hub may be away
 * for a while.
 */
const RENEW_BEFORE_S = 15 * 60;
/** From the creation of a token to the renewal of the session, ms. */
export const SAS_RENEW_MS = (SAS_LIFETIME_S - RENEW_BEFORE_S) * 1000;
/** "Using the MQTT protocol directly": the version of the hub's API. */
const API_VERSION = "2021-04-12";

/** `SharedAccessSignature sr={URL-encoded resource}&sig={signature}&se={expiry}`; `key` is base64, as the portal shows it. */
export function sasToken(
  device: { readonly hostName: string; readonly deviceId: string },
  key: string,
  expiresAtS: number,
): string {
  const resource = encodeURIComponent(`${device.hostName}/devices/${device.deviceId}`);
  const signature = createHmac("sha256", Buffer.from(key.trim(), "base64"))
    .update(`${resource}\n${expiresAtS}`)
    .digest("base64");
  return `SharedAccessSignature sr=${resource}&sig=${encodeURIComponent(signature)}&se=${expiresAtS}`;
}

/** "The Username field": `{iothub-hostname}/{device-id}/?api-version=…`. */
export function azureUsername(device: {
  readonly hostName: string;
  readonly deviceId: string;
}): string {
  return `${device.hostName}/${device.deviceId}/?api-version=${API_VERSION}`;
}

export const azureKeyFault = (key: string) =>
  key.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(key)
    ? null
    : {
        problem: "does not contain a base64 key, from which Azure derives the password",
        remedy: "use the device's primary or secondary key as the portal shows it",
      };

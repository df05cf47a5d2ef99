/** How an uplink is known to its broker: its client id and its login. */

import type { JsonObject } from "../core/record.ts";
import { shown } from "./fault.ts";
import type { ReportFault, UplinksContext } from "./uplinks-context.ts";
import { readCredentials } from "./uplinks-secrets.ts";
import { sessionsOf } from "./uplinks-sessions.ts";
import { text } from "./written-parts.ts";

export function checkLogin(
  uplink: JsonObject,
  place: string,
  directory: string,
  { fault }: ReportFault,
  { pending }: UplinksContext,
): void {
  const given = (key: string) => uplink[key] !== undefined;
  if (given("username") && given("usernameFile"))
    fault({
      place: `${place}.usernameFile`,
      problem: "is set in addition to username",
      remedy: "keep one of the two",
    });
  if (
    uplink["version"] === 4 &&
    given("passwordFile") &&
    !given("username") &&
    !given("usernameFile")
  )
    fault({
      place: `${place}.passwordFile`,
      problem: "is set without a user name, which MQTT 3.1.1 does not allow",
      remedy: "set username too",
    });
  if (given("sasKeyFile") && uplink["profile"] !== "azure-iot")
    fault({
      place: `${place}.sasKeyFile`,
      problem: "has no effect without the profile azure-iot",
      remedy: "remove it",
    });
  else if (given("sasKeyFile") && given("passwordFile"))
    fault({
      place: `${place}.passwordFile`,
      problem: "is set in addition to sasKeyFile, from which the password is derived",
      remedy: "keep one of the two",
    });
  const file = (key: string) => {
    const path = text(uplink[key]);
    return path === undefined || path === "" ? {} : { [key]: path };
  };
  const keys = ["usernameFile", "passwordFile", "sasKeyFile", "proxyAuthFile"] as const;
  const files = Object.assign({}, ...keys.map(file));
  const { sasKey } = readCredentials(files, place, directory, fault, pending);
  if (uplink["profile"] === "azure-iot" && sasKey !== null && !isBase64(sasKey.trim()))
    fault({
      place: `${place}.sasKeyFile`,
      problem: "does not contain a base64 key, from which Azure derives the password",
      remedy: "use the device's primary or secondary key as the portal shows it",
    });
}

const isBase64 = (key: string) => key.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(key);

/** Learn Azure IoT Hub, "Understand the identity registry": characters and length of a device id. */
const AZURE_DEVICE_ID = /^[A-Za-z0-9\-.%_*?!(),:=@$']{1,128}$/;

/** AWS IoT Core endpoints and quotas, "Message broker and protocol limits": bytes of a client id. */
const AWS_CLIENT_ID_BYTES_MAX = 128;

/** What the platform accepts as a client id; the default one contains the site's name. */
export function checkClientId(
  uplink: JsonObject,
  place: string,
  context: UplinksContext,
  { fault }: ReportFault,
): void {
  for (const clientId of sessionsOf(uplink, place, [], context).clientIds) {
    if (uplink["profile"] === "azure-iot" && !AZURE_DEVICE_ID.test(clientId))
      fault({
        place: `${place}.clientId`,
        problem: `${shown(clientId)} is no device id of Azure IoT Hub: at most 128 letters, digits and - . % _ * ? ! ( ) , : = @ $ '`,
        remedy: "set clientId to the id of the device in the hub",
      });
    const bytes = Buffer.byteLength(clientId);
    if (uplink["profile"] === "aws-iot" && bytes > AWS_CLIENT_ID_BYTES_MAX)
      fault({
        place: `${place}.clientId`,
        problem: `${shown(clientId)} has ${bytes} bytes, but AWS IoT allows at most ${AWS_CLIENT_ID_BYTES_MAX}`,
        remedy: "use a shorter client id",
      });
  }
}

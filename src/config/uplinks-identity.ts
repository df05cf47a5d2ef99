/** How an uplink logs in at its broker. */

import type { JsonObject } from "../core/record.ts";
import { profileOf } from "./profiles.ts";
import type { ReportFault, UplinksContext } from "./uplinks-context.ts";
import { readCredentials } from "./uplinks-secrets.ts";
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
  const login = profileOf(uplink["profile"])?.login;
  if (given("sasKeyFile") && login === undefined)
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
  const faulty = sasKey === null ? null : (login?.keyFault(sasKey.trim()) ?? null);
  if (faulty !== null) fault({ place: `${place}.sasKeyFile`, ...faulty });
}

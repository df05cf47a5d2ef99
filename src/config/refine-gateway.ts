/** Settings of the gateway: address, headers, certificates, zone. */
import { basicAuthorization } from "../lib/url-login.ts";
import { isTimezone, parseAddress, parseHeaders } from "./checks.ts";
import { type Note, shown } from "./fault.ts";
import type { Refining } from "./refining.ts";
import type { RawSettings } from "./settings-table.ts";
import { checkTlsFiles } from "./tls-files.ts";
import { zoneDoubt } from "./zone-names.ts";

export function refineGateway(raw: RawSettings, { note, warn, path }: Refining) {
  const gateway = raw.GATEWAY_URL
    ? parseAddress("GATEWAY_URL", raw.GATEWAY_URL, ["http", "https"], note)
    : null;
  if (gateway?.url.endsWith(`/${raw.GATEWAY_SERVICE}`))
    warn(
      "GATEWAY_URL",
      `ends with /${raw.GATEWAY_SERVICE}, which is added to it`,
      "remove it from the address",
    );
  const gatewayHeaders = raw.GATEWAY_HEADERS
    ? parseHeaders("GATEWAY_HEADERS", raw.GATEWAY_HEADERS, note)
    : {};
  const { username = null, password = null } = gateway ?? {};
  if (username !== null || password !== null) {
    if (Object.keys(gatewayHeaders).some((name) => name.toLowerCase() === "authorization")) {
      note({
        place: "GATEWAY_URL",
        problem:
          "contains a user name, but GATEWAY_HEADERS already contains an Authorization header",
        remedy: "keep one of the two",
      });
    }
    gatewayHeaders["authorization"] = basicAuthorization({
      username: username ?? "",
      password: password ?? "",
    });
  }
  const caFile = path(raw.GATEWAY_CA_FILE);
  if (caFile) checkTlsFiles({ ca: { name: "GATEWAY_CA_FILE", path: caFile } }, note);

  if (caFile && gateway?.url.startsWith("http:"))
    warn("GATEWAY_CA_FILE", "has no effect on an http:// gateway", "use https://, or remove it");
  return {
    gatewayUrl: gateway?.url ?? "",
    gatewayGeneration: raw.GATEWAY_GENERATION === "1" ? (1 as const) : (2 as const),
    gatewayTimezone: timezoneOf(raw, note, warn),
    gatewayHeaders,
    gatewayProxy: proxyOf(raw.GATEWAY_PROXY, note),
    gatewayEmptyStatuses: (raw.GATEWAY_EMPTY_STATUSES ?? "")
      .split(",")
      .filter((text) => text.trim() !== "")
      .map(Number),
  };
}

/** With its credentials, which are sent to the proxy only. */
function proxyOf(text: string | undefined, note: Note): string | null {
  if (text === undefined) return null;
  return parseAddress("GATEWAY_PROXY", text, ["http", "https"], note) === null ? null : text;
}

function timezoneOf(raw: RawSettings, note: Note, warn: Refining["warn"]): string {
  if (raw.GATEWAY_TIMEZONE !== undefined) {
    if (!isTimezone(raw.GATEWAY_TIMEZONE)) {
      note({
        place: "GATEWAY_TIMEZONE",
        problem: `${shown(raw.GATEWAY_TIMEZONE)} is not an IANA time zone`,
        remedy: "use a name such as Europe/Berlin or UTC",
      });
      return raw.GATEWAY_TIMEZONE;
    }
    const zone = raw.GATEWAY_TIMEZONE;
    const meant = new Intl.DateTimeFormat("en-US", { timeZone: zone }).resolvedOptions().timeZone;
    const doubt = zoneDoubt(zone, meant);
    if (doubt !== null) warn("GATEWAY_TIMEZONE", doubt.problem, doubt.remedy);
    return zone;
  }
  const system = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (system && isTimezone(system)) return system;
  warn("GATEWAY_TIMEZONE", "is not set, and the system's zone is unknown", "UTC is used");
  return "UTC";
}

/** Parsing and checks of single settings that JSON Schema cannot express. Each returns the value or a fault. */
import { addressesOf } from "../core/addresses/address-list.ts";
import { withoutTrailing } from "../core/text/text-ends.ts";
import { likely } from "../lib/nearest.ts";
import { loginOf } from "../lib/url-login.ts";
import { type Note, shown } from "./fault.ts";

const PORT_MAX = 65_535;
/** For a URL that may contain a password. */
const ENCODED =
  "in a user name or password, write / as %2F, # as %23, ? as %3F, @ as %40 and % as %25";

/** A URL without its credentials, and the credentials separately. */
export interface ParsedAddress {
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
}

export function parseAddress(
  name: string,
  text: string,
  schemes: readonly string[],
  note: Note,
): ParsedAddress | null {
  const wanted = `use an address such as ${schemes[0]}://host`;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // The text is not repeated: it may contain a password.
    const port = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#]*@)?[^/?#@]*:(\d+)(?:[/?#]|$)/i.exec(text)?.[1];
    const isPortWrong = port !== undefined && Number(port) > PORT_MAX;
    note(
      isPortWrong
        ? {
            place: name,
            problem: "has an invalid port",
            remedy: `use a port from 1 to ${PORT_MAX}`,
          }
        : {
            place: name,
            problem: "is not a complete address",
            remedy: text.includes("@") ? `${wanted}; ${ENCODED}` : wanted,
          },
    );
    return null;
  }
  if (url.port === "0") {
    note({
      place: name,
      problem: "has an invalid port",
      remedy: `use a port from 1 to ${PORT_MAX}`,
    });
    return null;
  }
  const scheme = url.protocol.slice(0, -1);
  if (!schemes.includes(scheme) || url.host === "") {
    // A user name, if the scheme is missing: only suggest one if a known scheme was probably meant.
    const closest = likely(scheme, schemes);
    const wrongScheme =
      closest === null
        ? "does not start with a supported scheme"
        : `${shown(`${scheme}:`)} is not a supported scheme`;
    note({
      place: name,
      problem: schemes.includes(scheme) ? "names no host" : wrongScheme,
      remedy: `${wanted}; schemes: ${schemes.join(", ")}`,
    });
    return null;
  }
  const fragmentless = scheme.startsWith("mqtt") || scheme.startsWith("http");
  if (url.hash !== "" || (fragmentless && url.search !== "")) {
    note({
      place: name,
      problem: "has a query or fragment",
      remedy: `${text.includes("@") ? `${ENCODED}; else ` : ""}remove everything from the ? or # on`,
    });
    return null;
  }
  if (scheme.startsWith("mqtt") && url.pathname !== "" && url.pathname !== "/") {
    note({
      place: name,
      // Not repeated: if a password contains a slash, the rest of it ends up in the path.
      problem: "has a path",
      remedy: `${text.includes("@") ? `${ENCODED}; else ` : ""}use only scheme, host and port; topics are set by the topic prefix`,
    });
    return null;
  }
  const login = loginOf(url);
  url.username = "";
  url.password = "";
  return {
    url: withoutTrailing(url.href, "/"),
    username: login?.username || null,
    password: login?.password || null,
  };
}

/** The address of an HTTP proxy that opens tunnels. */
export function parseProxy(name: string, text: string, note: Note): ParsedAddress | null {
  const address = parseAddress(name, text, ["http"], note);
  if (address === null || new URL(address.url).pathname === "/") return address;
  note({ place: name, problem: "has a path", remedy: "use only http://, host and port" });
  return null;
}

/** The address of a proxy with its credentials, `user:password`. */
export function proxyAddress(url: string, credentials: string | null): string {
  const address = new URL(url);
  if (credentials !== null) {
    const [user = "", ...password] = credentials.split(":");
    address.username = encodeURIComponent(user);
    address.password = encodeURIComponent(password.join(":"));
  }
  return withoutTrailing(address.href, "/");
}

const BROKER_SCHEMES = ["mqtt", "mqtts", "ws", "wss"] as const;

/** More than a cluster has; `doctor` opens a connection to each. */
const BROKERS_MAX = 16;

/** Secure MQTT, as registered with IANA. */
const TLS_PORT = "8883";

/**
 * Several addresses of one broker cluster, comma-separated, with their credentials. A comma inside a password is part
 * of it. Null: faults were noted.
 */
export function parseBrokers(
  name: string,
  text: string,
  note: Note,
): (Omit<ParsedAddress, "url"> & { readonly urls: readonly string[] }) | null {
  const texts = addressesOf(text);
  if (texts.length > BROKERS_MAX) {
    const problem = `lists ${texts.length} addresses`;
    note({ place: name, problem, remedy: `use at most ${BROKERS_MAX}` });
    return null;
  }
  const parsed = texts.map((one, index) => {
    const which = texts.length === 1 ? "" : `address ${index + 1}: `;
    const noteOne: Note = (fault) => note({ ...fault, problem: `${which}${fault.problem}` });
    const address = parseAddress(name, one, BROKER_SCHEMES, noteOne);
    if (
      address !== null &&
      address.url.startsWith("mqtt:") &&
      new URL(address.url).port === TLS_PORT
    )
      noteOne({
        place: name,
        problem: `is mqtt:// on port ${TLS_PORT}, where brokers expect TLS`,
        remedy: "use mqtts://, or the port without TLS (1883)",
      });
    if (address === null || !new URL(address.url).host.includes(",")) return address;
    noteOne({
      place: name,
      problem: "has a comma in the host name",
      remedy: "write each address in full, such as mqtt://a,mqtt://b",
    });
    return null;
  });
  const addresses = parsed.filter((address) => address !== null);
  const [first] = addresses;
  if (first === undefined || addresses.length < parsed.length) return null;
  const { username, password } = first;
  if (addresses.some((other) => other.username !== username || other.password !== password)) {
    note({
      place: name,
      problem: "contains different user names or passwords",
      remedy: "use the addresses of one cluster, with the same user name and password",
    });
  }
  const urls = addresses.map(({ url }) => url);
  if (new Set(urls).size < urls.length)
    note({ place: name, problem: "contains an address twice", remedy: "keep one" });
  return { urls, username, password };
}

/** Headers that the client itself must set. */
const OWN_HEADERS =
  /^(content-length|content-type|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer)$/i;

/** `Name: value`, or a JSON object of several. Values are secrets and never repeated in a fault. */
export function parseHeaders(place: string, text: string, note: Note): Record<string, string> {
  const remedy = 'use `Name: value`, or {"Name":"value",…} as JSON';
  const pairs: [string, unknown][] = [];
  if (text.startsWith("{")) {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      note({ place, problem: "starts like a JSON object but is not valid JSON", remedy });
      return {};
    }
    pairs.push(...Object.entries(parsed ?? {}));
  } else {
    const colon = text.indexOf(":");
    if (colon < 0) {
      note({ place, problem: "has no colon after a header name", remedy });
      return {};
    }
    pairs.push([text.slice(0, colon).trim(), text.slice(colon + 1).trim()]);
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of pairs) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
      note({ place, problem: "contains an invalid HTTP header name", remedy });
    } else if (OWN_HEADERS.test(name)) {
      note({ place, problem: `${name} is set by the agent itself`, remedy: "remove it" });
    } else if (typeof value !== "string" || !/^[\t\x20-\x7e\u0080-\u00ff]+$/.test(value)) {
      note({
        place,
        problem: `the value of ${name} is not valid in a header`,
        remedy: "use a non-empty value of one line",
      });
    } else {
      headers[name] = value;
    }
  }
  return headers;
}

export function parseFormats<F extends string>(text: string, known: readonly F[], note: Note): F[] {
  const formats: F[] = [];
  for (const part of text.split(",").map((p) => p.trim())) {
    if (part === "") continue;
    const format = known.find((f) => f === part);
    if (format === undefined) {
      note({
        place: "PUBLISH_FORMATS",
        problem: `${shown(part)} is not a format`,
        remedy: `use one or more of ${known.join(", ")}, comma-separated`,
      });
    } else if (!formats.includes(format)) formats.push(format);
  }
  return formats;
}

/** Null if this Node does not know the zone. */
export function isTimezone(name: string): boolean {
  // Only newer Nodes accept offsets such as +02:00, and they have no summer time.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
  return (
    bare === "localhost" ||
    bare === "::1" ||
    /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(bare)
  );
}

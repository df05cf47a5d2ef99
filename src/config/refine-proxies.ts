/** Settings for proxies in front of the HTTP server. */
import { parseNetwork } from "../lib/network.ts";
import { parseAddress } from "./checks.ts";
import { type Note, shown } from "./fault.ts";
import type { Refining } from "./refining.ts";
import type { RawSettings } from "./settings-table.ts";

/** More than anybody's proxies have. */
const LISTED_MAX = 32;
/** Paths of ours: with one as base, a path could mean two things. */
const OWN_PATHS = /^\/(api|ApiWeb\.svc|healthz|readyz|metrics|manual|sign-in|sign-out)\//;
/** Their values are secrets, or name no person. */
const OTHER_HEADERS = /^(authorization|proxy-authorization|cookie|host|origin)$/i;

export function refineProxies(raw: RawSettings, { note, warn }: Refining) {
  const header = raw.HTTP_USER_HEADER ?? null;
  for (const name of ["HTTP_PUBLIC_URL", "HTTP_TRUSTED_PROXY"] as const)
    if (raw[name] !== undefined && raw.HTTP_TOKEN === undefined)
      note({
        place: "HTTP_TOKEN",
        problem: `is missing, but ${name} is set`,
        remedy:
          "set a token: without it, everybody whom the proxy lets through can change everything",
      });
  if (header !== null && raw.HTTP_TRUSTED_PROXY === undefined)
    note({
      place: "HTTP_TRUSTED_PROXY",
      problem: "is missing, but HTTP_USER_HEADER is set",
      remedy: "set the address of the proxy: from others, the header could name anybody",
    });
  if (header !== null && OTHER_HEADERS.test(header))
    note({
      place: "HTTP_USER_HEADER",
      problem: `${header} does not name a person`,
      remedy: "use the header in which the proxy passes on the user, such as X-Remote-User",
    });
  const httpTrustedProxies = trustedProxies(raw.HTTP_TRUSTED_PROXY, note);
  for (const one of httpTrustedProxies)
    if (parseNetwork(one)?.bits === 0)
      warn(
        "HTTP_TRUSTED_PROXY",
        `${one} is every address: any client may say who and where it is`,
        "name the address of the proxy, or its network",
      );
  return { httpPublicUrls: publicUrls(raw.HTTP_PUBLIC_URL, note), httpTrustedProxies };
}

function publicUrls(text: string | undefined, note: Note): string[] {
  const place = "HTTP_PUBLIC_URL";
  const urls: URL[] = [];
  for (const one of listed(place, text, note)) {
    const address = parseAddress(place, one, ["https", "http"], note);
    if (address === null) continue;
    const url = new URL(`${address.url}/`);
    if (address.username !== null || address.password !== null)
      note({ place, problem: "contains a user name or password", remedy: "remove it" });
    if (/[;,]/.test(url.pathname) || OWN_PATHS.test(url.pathname))
      note({
        place,
        problem: `${shown(url.pathname)} cannot be the path`,
        remedy: "use one that is not a path of the agent, such as /gateside",
      });
    if (urls.some(({ origin }) => origin === url.origin))
      note({
        place,
        problem: `contains ${url.origin} twice`,
        remedy: "keep one: each scheme, host and port has one path",
      });
    urls.push(url);
  }
  return urls.map(({ href }) => href);
}

function trustedProxies(text: string | undefined, note: Note): string[] {
  const place = "HTTP_TRUSTED_PROXY";
  return listed(place, text, note).filter((one) => {
    const isRight = parseNetwork(one) !== null;
    if (!isRight)
      note({
        place,
        problem: `${shown(one)} is neither an address nor a network`,
        remedy: "use addresses such as 127.0.0.1 and networks such as 192.168.7.0/24",
      });
    return isRight;
  });
}

function listed(place: string, text: string | undefined, note: Note): string[] {
  if (text === undefined) return [];
  const parts = text.split(",").map((part) => part.trim());
  if (parts.length > LISTED_MAX)
    note({ place, problem: `lists ${parts.length} of them`, remedy: `list at most ${LISTED_MAX}` });
  return parts;
}

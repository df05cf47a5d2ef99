/** DNS rebinding: a page elsewhere makes its own name resolve to 127.0.0.1, but its requests still carry that name in `Host`. */

/** True for addresses and names that always mean this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (name === "localhost" || name === "::1" || name === "0:0:0:0:0:0:0:1") return true;
  return /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

/** The name in a `Host` header, without its port; null if it is malformed. */
export function hostName(header: string | undefined): string | null {
  if (header === undefined) return null;
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s/@]+)(:\d{1,5})?$/.exec(header.trim());
  return match?.[1] ?? null;
}

/** While bound to loopback only loopback names are accepted; a tunnel may change the port, so it is not compared. */
export function isHostAllowed(boundHost: string, header: string | undefined): boolean {
  if (!isLoopbackHost(boundHost)) return true;
  const name = hostName(header);
  return name !== null && isLoopbackHost(name);
}

/** True if someone follows a link to us: that shows our own page, and reveals nothing to the other one. */
export function isNavigation(headers: {
  readonly "sec-fetch-mode"?: string | string[] | undefined;
}): boolean {
  return headers["sec-fetch-mode"] === "navigate";
}

/**
 * False for a request that a page of another origin sent. An origin is compared by scheme, host and port. Over plain
 * http, except on loopback, browsers send no Sec-Fetch-Site: there the Origin of a form's post has to decide.
 */
export function isSameOrigin(
  headers: {
    readonly origin?: string | undefined;
    readonly host?: string | undefined;
    readonly "sec-fetch-site"?: string | string[] | undefined;
  },
  scheme: "http" | "https",
): boolean {
  const { origin, host, "sec-fetch-site": site } = headers;
  // A page without an origin of its own, such as a sandboxed frame, is none of ours: those send `same-origin` referrers.
  if (origin === "null") return false;
  // The browser states it explicitly; behind a proxy that rewrites `Host` the comparison below could not tell.
  if (typeof site === "string") return site === "same-origin" || site === "none";
  if (origin === undefined) return true;
  const own = originOf(`${scheme}://${host ?? ""}`);
  return own !== null && originOf(origin) === own;
}

/** In its usual spelling, without a default port; null if it is none. */
function originOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).origin : null;
}

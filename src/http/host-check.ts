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

/** Node shows the first of them; what stands in front of us may have gone by another (RFC 9112 3.2). */
export function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  const isHost = (text: string, at: number) => at % 2 === 0 && text.toLowerCase() === "host";
  return rawHeaders.filter(isHost).length > 1;
}

/**
 * True if someone follows a link to us: that shows our own page, and reveals nothing to the other one. Browsers name no origin
 * then.
 */
export function isNavigation(headers: {
  readonly origin?: string | undefined;
  readonly "sec-fetch-mode"?: string | string[] | undefined;
}): boolean {
  return headers["sec-fetch-mode"] === "navigate" && headers.origin === undefined;
}

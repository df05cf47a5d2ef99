import { isIP } from "node:net";
import { hostName, isLoopbackHost } from "./host-check.ts";

export type Scheme = "http" | "https";

interface RequestHeaders {
  readonly origin?: string | undefined;
  readonly host?: string | undefined;
  readonly "sec-fetch-site"?: string | string[] | undefined;
}

/**
 * The addresses at which people open this agent: its own, and those of HTTP_PUBLIC_URL, where a proxy may add a path.
 * That path is the base of every address that a browser gets from us, whether the proxy removes it or not.
 */
export class OwnAddresses {
  readonly #isLoopback: boolean;
  readonly #listed: readonly URL[];
  readonly #ownName: () => string;

  /** `publicUrls`: one for each origin, their paths with a slash at the end. */
  constructor(boundHost: string, publicUrls: readonly string[], ownName: () => string) {
    this.#isLoopback = isLoopbackHost(boundHost);
    this.#ownName = ownName;
    this.#listed = publicUrls.map((url) => new URL(url));
  }

  /**
   * Whether a `Host` header names this machine. Against DNS rebinding, for which a page elsewhere makes its own name
   * resolve to our address: its requests still carry that name. A tunnel may change the port, so it is not compared.
   */
  isHost(header: string | undefined): boolean {
    if (!this.#isLoopback && this.#listed.length === 0) return true;
    const name = hostName(header)?.toLowerCase().replace(/\.$/, "");
    if (name === undefined) return false;
    if (isLoopbackHost(name) || this.#listed.some((url) => url.hostname === name)) return true;
    if (this.#isLoopback) return false;
    // A name can be made to resolve to us, an address cannot.
    return (
      isIP(name.replace(/^\[|\]$/g, "")) !== 0 || isNameOf(this.#ownName().toLowerCase(), name)
    );
  }

  /**
   * False for a request that a page of another origin sent. An origin is compared by scheme, host and port. Over plain
   * http, except on loopback, browsers send no Sec-Fetch-Site: there the Origin of a form's post has to decide.
   */
  isSameOrigin({ origin, host, "sec-fetch-site": site }: RequestHeaders, scheme: Scheme): boolean {
    // A page without its own origin, such as a sandboxed frame, is none of ours: those send `same-origin` referrers.
    if (origin === "null") return false;
    if (typeof site === "string" && site !== "same-origin" && site !== "none") return false;
    if (origin === undefined) return true;
    // A proxy may rewrite `Host`. Then only the browser can tell, as long as we do not know our public addresses.
    if (typeof site === "string" && this.#listed.length === 0) return true;
    const given = originOf(origin);
    if (given === null) return false;
    return given === originOf(`${scheme}://${host ?? ""}`) || this.#byOrigin(given) !== undefined;
  }

  /** The path of a listed address that this path begins with; null for none. The proxy did not remove it. */
  baseIn(path: string): string | null {
    let longest: string | null = null;
    for (const { pathname } of this.#listed) {
      const isBelow = path.startsWith(pathname) || path === pathname.slice(0, -1);
      if (pathname !== "/" && isBelow && pathname.length > (longest?.length ?? 0))
        longest = pathname;
    }
    return longest;
  }

  /** The address as our routes know it. */
  withoutBase(url: string): string {
    const path = url.split("?", 1)[0] ?? "";
    const base = this.baseIn(path);
    return base === null ? url : `/${path.slice(base.length)}${url.slice(path.length)}`;
  }

  /** The path of the listed address that a request came to, by its Origin, else by its Host; `/` for none of them. */
  baseOf({ origin, host }: RequestHeaders, scheme: Scheme): string {
    const given = origin === undefined ? null : originOf(origin);
    const listed = (given !== null && this.#byOrigin(given)) || this.#byHost(host ?? "", scheme);
    return listed ? listed.pathname : "/";
  }

  #byOrigin(origin: string): URL | undefined {
    return this.#listed.find((url) => url.origin === origin);
  }

  #byHost(header: string, scheme: Scheme): URL | undefined {
    const matches = (url: URL) => originOf(`${url.protocol}//${header}`) === url.origin;
    const isOfScheme = ({ protocol }: URL) => protocol === `${scheme}:`;
    // Where a proxy ends TLS we see http. Where it leaves out the port, the name has to do.
    return (
      this.#listed.find((url) => isOfScheme(url) && matches(url)) ??
      this.#listed.find(matches) ??
      this.#listed.find(({ hostname: name }) => name === header.toLowerCase())
    );
  }
}

/** A computer's name in full, its first part, or as neighbours find it (multicast DNS). */
function isNameOf(full: string, name: string): boolean {
  const short = full.split(".", 1)[0] ?? full;
  return [full, short, `${full}.local`, `${short}.local`].includes(name);
}

/** In its usual spelling, without a default port; null if it is none. */
function originOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).origin : null;
}

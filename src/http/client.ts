import { BlockList, isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import { parseNetwork } from "../lib/network.ts";

/** A longer name is no name. */
const PERSON_LENGTH_MAX = 64;

interface TrustedProxies {
  /** Addresses and networks (CIDR) of proxies whose headers count. */
  readonly trustedProxies: readonly string[];
  /** The header in which they name the person; null for none. */
  readonly userHeader: string | null;
}

/** Who sent a request: the address, and the person whom a trusted proxy names. */
export class Clients {
  readonly #trusted = new BlockList();
  readonly #hasTrusted: boolean;
  readonly #userHeader: string | null;

  constructor({ trustedProxies, userHeader }: TrustedProxies) {
    for (const text of trustedProxies) {
      const network = parseNetwork(text);
      if (network !== null) this.#trusted.addSubnet(network.address, network.bits, network.family);
    }
    this.#hasTrusted = trustedProxies.length > 0;
    this.#userHeader = userHeader?.toLowerCase() ?? null;
  }

  /**
   * Of the socket; behind trusted proxies the last of X-Forwarded-For that is none of them. Where a whole network is trusted, as
   * people write it, that is none: then the furthest that they name. Empty for the local socket.
   */
  addressOf(request: FastifyRequest): string {
    let known = request.raw.socket.remoteAddress ?? "";
    const forwarded = String(request.headers["x-forwarded-for"] ?? "");
    for (const entry of forwarded.split(",").reverse()) {
      const address = withoutPort(entry.trim());
      if (!this.#isTrusted(known) || isIP(address) === 0) break;
      known = address;
    }
    return known;
  }

  /** Null for nobody: also for a header that is there twice, which somebody else may have added. */
  personOf(request: FastifyRequest): string | null {
    if (this.#userHeader === null) return null;
    if (!this.#isTrusted(request.raw.socket.remoteAddress ?? "")) return null;
    const { rawHeaders } = request.raw;
    const isValue = (at: number) =>
      at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === this.#userHeader;
    const [value, ...others] = rawHeaders.filter((_text, at) => isValue(at));
    if (value === undefined || others.length > 0) return null;
    // Node reads headers as Latin-1; names are UTF-8.
    const bytes = Buffer.from(value, "latin1");
    const name = (
      bytes.toString("utf8").includes("\uFFFD") ? value : bytes.toString("utf8")
    ).trim();
    const isName =
      name !== "" && Array.from(name).length <= PERSON_LENGTH_MAX && !/\p{Cc}/u.test(name);
    return isName ? name : null;
  }

  #isTrusted(text: string): boolean {
    if (!this.#hasTrusted) return false;
    // A socket for both families shows IPv4 this way.
    const address = text.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
    const family = isIP(address);
    return family !== 0 && this.#trusted.check(address, family === 6 ? "ipv6" : "ipv4");
  }
}

/** For the limit of wrong tokens: people behind one proxy, or behind one router, are different if it says so. */
export function sourceOf({
  clientAddress,
  person,
}: Pick<FastifyRequest, "clientAddress" | "person">): string {
  return person === null ? clientAddress : `${clientAddress} ${person}`;
}

/** Some proxies add the port: `192.0.2.7:5060`, `[2001:db8::7]:5060`. */
function withoutPort(entry: string): string {
  return /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
}

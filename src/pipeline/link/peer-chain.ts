/** The certificates that a broker shows. */
import { X509Certificate } from "node:crypto";
import { isIP, type Socket } from "node:net";
import { checkServerIdentity, connect, type PeerCertificate } from "node:tls";
import type { Clock } from "../../core/ports.ts";
import { type Certificate, endingOf, firstToEnd } from "../../core/status/certificate.ts";
import { withPublicAuthorities } from "../../lib/authorities.ts";
import { describeCertificate } from "../../lib/certificates.ts";
import { type MqttLinkOptions, now } from "./link-options.ts";
import { BROKER_PORTS, openTunnel } from "./tunnel.ts";

/** More than any real chain has. */
const CHAIN_MAX = 10;
const CHECK_MS = 5_000;
/** Between two looks at the certificate of a broker that ends soon. */
const FOLLOW_MS = 600_000;

type ChainOptions = Pick<MqttLinkOptions, "proxy" | "alpn" | "tls">;

export function isTls(url: string): boolean {
  return url.startsWith("mqtts:") || url.startsWith("wss:");
}

/** Node gives the issuers along wherever there are any. */
type Shown = PeerCertificate & { readonly issuerCertificate?: Shown };

/** The broker's own first, then the issuer of each as far as it is known. */
function chainOf(shown: Shown): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next: Shown | undefined = shown;
  while (next?.raw !== undefined && chain.length < CHAIN_MAX) {
    const one = new X509Certificate(next.raw);
    if (chain.at(-1)?.fingerprint256 === one.fingerprint256) break;
    chain.push(one);
    next = next.issuerCertificate;
  }
  return chain;
}

/** Node's own check of the host name, for `tls.connect`, which calls it once the chain is verified. */
export function identityCheck(onVerified: (chain: readonly Certificate[]) => void) {
  return (host: string, shown: PeerCertificate): Error | undefined => {
    const failure = checkServerIdentity(host, shown);
    if (failure === undefined) onVerified(chainOf(shown).map(describeCertificate));
    return failure;
  };
}

/** What the broker shows now, verified or not; nothing of ours is sent. Empty if there is no connection. */
export async function lookAtChain(
  url: string,
  { proxy, alpn = [], tls }: ChainOptions,
): Promise<readonly X509Certificate[]> {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  try {
    const tunnel = proxy === undefined ? null : await openTunnel(now(proxy), url, CHECK_MS);
    const ca = tls === undefined ? undefined : now(tls).ca;
    return await shownOver(tunnel, {
      host,
      port: port === "" ? (BROKER_PORTS[protocol] ?? 0) : Number(port),
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca: withPublicAuthorities(ca) }),
      ...(protocol === "mqtts:" && alpn.length > 0 ? { ALPNProtocols: [...alpn] } : {}),
    });
  } catch {
    return [];
  }
}

function shownOver(
  tunnel: Socket | null,
  options: { host: string; port: number },
): Promise<readonly X509Certificate[]> {
  return new Promise((resolve) => {
    const socket = connect({
      ...options,
      ...(tunnel === null ? {} : { socket: tunnel }),
      rejectUnauthorized: false,
      timeout: CHECK_MS,
    });
    const end = (chain: readonly X509Certificate[]) => {
      socket.destroy();
      tunnel?.destroy();
      resolve(chain);
    };
    socket.once("secureConnect", () => end(chainOf(socket.getPeerCertificate(true))));
    socket.once("timeout", () => end([]));
    socket.on("error", () => end([]));
  });
}

/** What the broker of a link showed last. */
export class BrokerCertificates {
  readonly #clock: Clock;
  readonly #options: ChainOptions;
  current: readonly Certificate[] = [];

  constructor(clock: Clock, options: ChainOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** A session may outlast the certificate it began with: before that ends, the broker is asked what it shows now. */
  async follow(url: string, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await this.#clock.sleep(FOLLOW_MS, ended);
      const first = firstToEnd(this.current);
      if (ended.aborted) return;
      if (first === null || endingOf(first, this.#clock.now()).state === "valid") continue;
      const chain = await lookAtChain(url, this.#options);
      if (chain.length > 0 && !ended.aborted) this.current = chain.map(describeCertificate);
    }
  }
}

import type { BrokerTls } from "../core/collect-options.ts";
import { loginOf } from "../lib/url-login.ts";

/** A broker's address taken apart. */
export interface BrokerAddress {
  readonly protocol: "mqtt" | "mqtts" | "amqp" | "amqps";
  readonly host: string;
  readonly port: number;
  readonly username: string | null;
  readonly password: string | null;
  readonly url: string;
}

const PORTS = { mqtt: 1883, mqtts: 8883, amqp: 5672, amqps: 5671 } as const;

/** Throws if the text is not a broker URL; its message does not repeat it, because it may contain a password. */
export function brokerAddress(text: string): BrokerAddress {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Error("is not an address such as mqtts://broker.example:8883");
  }
  const protocol = url.protocol.replace(/:$/, "");
  if (!isProtocol(protocol))
    throw new Error(`begins with ${url.protocol}//; give mqtt://, mqtts://, amqp:// or amqps://`);
  if (url.hostname === "") throw new Error("has no host");
  const login = loginOf(url);
  return {
    protocol,
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? PORTS[protocol] : Number(url.port),
    username: login?.username || null,
    password: login?.password || null,
    url: text,
  };
}

function isProtocol(text: string): text is BrokerAddress["protocol"] {
  return text in PORTS;
}

/** Without user name and password: for logs, and as part of a session's name. */
export function publicBroker({ protocol, host, port }: BrokerAddress): string {
  return `${protocol}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** For tls.connect; certificates are always verified. */
export function tlsOptions({ ca, cert, key }: BrokerTls): {
  ca?: string;
  cert?: string;
  key?: string;
} {
  return {
    ...(ca === null ? {} : { ca }),
    ...(cert === null ? {} : { cert }),
    ...(key === null ? {} : { key }),
  };
}

import { isIP } from "node:net";

/** An address, or all addresses that share its first bits. */
export interface Network {
  readonly address: string;
  readonly bits: number;
  readonly family: "ipv4" | "ipv6";
}

/** `192.0.2.7`, or a network such as `192.0.2.0/24` (CIDR); null for anything else. */
export function parseNetwork(text: string): Network | null {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return null;
  const bitsMax = version === 6 ? 128 : 32;
  const isRight = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax);
  if (!isRight) return null;
  return { address, bits: Number(bits ?? bitsMax), family: version === 6 ? "ipv6" : "ipv4" };
}

/** A self-signed certificate in DER (RFC 5280, X.690): node:crypto reads certificates but does not create any. */
import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";

export interface CertificateRequest {
  /** Common name of subject and issuer, at most 64 characters. */
  readonly name: string;
  /** Host names and addresses that the certificate is valid for. */
  readonly hosts: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const COMMON_NAME_MAX = 64;

/** @returns the certificate in PEM; the key must be an EC key on P-256 */
export function selfSignedCertificate(
  { name, hosts, notBefore, notAfter }: CertificateRequest,
  { publicKey, privateKey }: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
): string {
  const algorithm = sequence(oid("1.2.840.10045.4.3.2")); // ecdsa-with-SHA256
  const subject = sequence(set(sequence(oid("2.5.4.3"), utf8(name.slice(0, COMMON_NAME_MAX)))));
  const keyInfo = publicKey.export({ type: "spki", format: "der" });
  const keyId = createHash("sha1").update(keyInfo).digest();
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))), // v3
    integer(serialNumber()),
    algorithm,
    subject,
    sequence(time(notBefore), time(notAfter)),
    subject,
    keyInfo,
    tagged(
      0xa3,
      sequence(
        // Not a CA: it certifies this box and nothing else.
        extension("2.5.29.19", sequence(), true),
        // digitalSignature
        extension("2.5.29.15", tagged(0x03, Buffer.from([7, 0x80])), true),
        extension("2.5.29.37", sequence(oid("1.3.6.1.5.5.7.3.1")), false), // serverAuth
        extension("2.5.29.14", octets(keyId), false),
        extension("2.5.29.17", sequence(...hosts.map(hostName)), false),
      ),
    ),
  );
  const signature = sign("sha256", body, privateKey);
  const whole = sequence(
    body,
    algorithm,
    tagged(0x03, Buffer.concat([Buffer.from([0]), signature])),
  );
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

/** Positive, of 16 bytes: a browser that has seen another certificate with the same number rejects this one. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const digits = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...digits]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts);
const set = (...parts: readonly Buffer[]): Buffer => tagged(0x31, ...parts);
const integer = (bytes: Buffer): Buffer => tagged(0x02, bytes);
const octets = (bytes: Buffer): Buffer => tagged(0x04, bytes);
const utf8 = (text: string): Buffer => tagged(0x0c, Buffer.from(text, "utf8"));

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = rest.flatMap((arc) => {
    const groups = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left & 0x7f) | 0x80);
    return groups;
  });
  return tagged(0x06, Buffer.from([first * 40 + second, ...bytes]));
}

/** UTCTime up to 2049, GeneralizedTime from then on. */
function time(at: Date): Buffer {
  const digits = `${at.toISOString().replace(/\.\d+/, "").replace(/[-:T]/g, "")}`;
  return at.getUTCFullYear() < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2), "latin1"))
    : tagged(0x18, Buffer.from(digits, "latin1"));
}

function extension(id: string, value: Buffer, isCritical: boolean): Buffer {
  const critical = isCritical ? [tagged(0x01, Buffer.from([0xff]))] : [];
  return sequence(oid(id), ...critical, octets(value));
}

function hostName(host: string): Buffer {
  const family = isIP(host);
  if (family === 0) return tagged(0x82, Buffer.from(host, "latin1"));
  return tagged(0x87, family === 4 ? Buffer.from(host.split(".").map(Number)) : ipv6(host));
}

function ipv6(address: string): Buffer {
  // The URL parser writes it only with numbers, and at most one `::`.
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = "", tail] = plain.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const zeros = Array<string>(8 - before.length - after.length).fill("0");
  return Buffer.from(
    [...before, ...zeros, ...after].map((group) => group.padStart(4, "0")).join(""),
    "hex",
  );
}

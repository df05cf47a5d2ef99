import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { resolve } from "node:path";
import { DAY_MS } from "../core/time-units.ts";
import { fileTrouble } from "../lib/file-trouble.ts";
import { selfSignedCertificate } from "../lib/self-signed.ts";
import { type CommandContext, UsageError } from "./command.ts";

/** Apple's systems accept certificates made since 2019 for at most 825 days, even ones that a person trusts. */
const DAYS_DEFAULT = 825;
const DAYS_MAX = 3650;
/** A certificate made on a box whose clock is ahead by up to this is valid for others at once all the same. */
const CLOCK_SLACK_MS = DAY_MS;
const HOSTS_MAX = 50;
/** Readable by nobody else. */
const PRIVATE_MODE = 0o600;

/** Creates a key and a self-signed certificate for the HTTP server, or shows the fingerprint of an existing one. */
export function run(context: CommandContext): Promise<number> {
  const { flags, cwd, stdout, stderr } = context;
  const shown = flags.text("show");
  if (shown !== null) {
    stdout.write(describe(readCertificate(resolve(cwd, shown))));
    return Promise.resolve(0);
  }
  const name = flags.text("out") ?? "gateside";
  const certPath = resolve(cwd, `${name}.cert.pem`);
  const keyPath = resolve(cwd, `${name}.key.pem`);
  const isRenewal = flags.has("replace");
  for (const path of [certPath, keyPath])
    if (existsSync(path) && !isRenewal)
      throw new UsageError(`${path} already exists; use --replace to overwrite it`);
  const days = flags.number("days", { min: 1, max: DAYS_MAX, isInteger: true }) ?? DAYS_DEFAULT;
  const hosts = hostsOf(flags.text("host"));
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const nowMs = Date.now();
  const certificate = selfSignedCertificate(
    {
      name: hosts[0] ?? "gateside",
      hosts,
      notBefore: new Date(nowMs - CLOCK_SLACK_MS),
      notAfter: new Date(nowMs + days * DAY_MS),
    },
    { privateKey, publicKey },
  );
  const key = privateKey.export({ type: "pkcs8", format: "pem" });
  const flag = isRenewal ? "w" : "wx";
  try {
    writeFileSync(keyPath, key, { mode: PRIVATE_MODE, flag });
    writeFileSync(certPath, certificate, { flag });
  } catch (error) {
    throw new UsageError(`--out ${name}: ${fileTrouble(error, "written")}`);
  }
  stdout.write(describe(new X509Certificate(certificate)));
  stderr.write(
    `${certPath}: HTTP_CERT_FILE\n${keyPath}: HTTP_KEY_FILE; the agent's user must be able to read it, and nobody else\nCompare the fingerprint with the one in the browser's first warning.\n`,
  );
  return Promise.resolve(0);
}

function describe(certificate: X509Certificate): string {
  return [
    `fingerprint (SHA-256)  ${certificate.fingerprint256}`,
    `valid                  ${new Date(certificate.validFrom).toISOString()} to ${new Date(certificate.validTo).toISOString()}`,
    `for                    ${(certificate.subjectAltName ?? certificate.subject).replaceAll(/DNS:|IP Address:/g, "")}`,
    "",
  ].join("\n");
}

function readCertificate(path: string): X509Certificate {
  try {
    return new X509Certificate(readPem(path));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--show ${path} is not a certificate in PEM`);
  }
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UsageError(`--show ${path} ${fileTrouble(error)}`);
  }
}

/** The given names, or every name and address that this machine has now. */
function hostsOf(given: string | null): string[] {
  if (given !== null) {
    const hosts = given.split(",").map((host) => host.trim());
    const wrong = hosts.find((host) => !/^[A-Za-z0-9.:_*-]{1,253}$/.test(host));
    if (wrong !== undefined || hosts.length > HOSTS_MAX)
      throw new UsageError(
        `--host ${JSON.stringify(wrong ?? given)}: use up to ${HOSTS_MAX} names or addresses, comma-separated`,
      );
    return hosts;
  }
  const own = hostname();
  const isName = /^[A-Za-z0-9.-]{1,253}$/.test(own);
  const addresses = Object.values(networkInterfaces()).flatMap((list) =>
    // Link-local addresses include an interface name, which certificates cannot contain.
    (list ?? []).flatMap(({ address }) => (/^fe80:/i.test(address) ? [] : [address])),
  );
  const names = isName ? [own, ...(own.includes(".") ? [] : [`${own}.local`])] : [];
  return [...new Set([...names, "localhost", "127.0.0.1", "::1", ...addresses])].slice(
    0,
    HOSTS_MAX,
  );
}

/** What a session needs of the broker: addresses, limits, and credentials as their files hold them before each attempt. */
import { readFileSync } from "node:fs";
import { MAIN_UPLINK, type SecretFiles, type Uplink } from "../core/uplink.ts";
import { fileTrouble } from "../lib/file-trouble.ts";
import { SecretGate } from "../lib/secrets.ts";
import { restartFiles } from "./certificates.ts";
import { proxyAddress } from "./checks.ts";
import { profileOf } from "./profiles.ts";
import { readSecretFile } from "./secret-file.ts";
import { NO_SECRETS, secretsOf } from "./secrets-of.ts";

/**
 * Common to all sessions of an uplink; each has its own client id.
 * @param credentialsDirectory of systemd's copies; null outside of a unit with credentials
 */
export function brokerOptions(
  uplink: Uplink,
  clientId: string,
  credentialsDirectory: string | null,
) {
  const { caFile, certFile, keyFile } = uplink.tls;
  const limits = profileOf(uplink.profile)?.limits;
  const login = new Login(uplink);
  return {
    urls: uplink.urls,
    version: uplink.version,
    clientId,
    ...(uplink.name === MAIN_UPLINK ? {} : { uplink: uplink.name }),
    redact: (text: string) => login.redact(text),
    restartFiles: restartFiles(uplink, credentialsDirectory),
    inflight: Math.min(uplink.inflight, limits?.inflightMax ?? uplink.inflight),
    publishesPerS: limits?.publishesPerS ?? 0,
    requireSubscriber: uplink.requireSubscriber,
    ...login.options(),
    alpn: uplink.alpn,
    tls: () => ({
      ...(caFile === null ? {} : { ca: pem("MQTT_CA_FILE", caFile) }),
      ...(certFile === null ? {} : { cert: pem("MQTT_CERT_FILE", certFile) }),
      ...(keyFile === null ? {} : { key: pem("MQTT_KEY_FILE", keyFile) }),
    }),
  };
}

/**
 * For one session that is opened and closed at once.
 * @param suffix of a client id that leaves a running agent its session; empty: the uplink's own client id
 */
export function trialOptions(
  uplink: Uplink,
  suffix: `-${string}` | "",
  credentialsDirectory: string | null,
) {
  return {
    ...brokerOptions(uplink, `${uplink.clientId}${suffix}`, credentialsDirectory),
    name: "mqtt",
    connectTimeoutMs: TRIAL_CONNECT_MAX_MS,
  } as const;
}

const TRIAL_CONNECT_MAX_MS = 20_000;

function pem(setting: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`${setting}: ${path} ${fileTrouble(error)}`);
  }
}

/** User name and password; some platforms derive both from the device's name and key. */
class Login {
  readonly #uplink: Uplink;
  /** A broker can echo no other secrets than its own: those last read, and the token last derived from the key. */
  #gate: SecretGate;
  #last: Partial<Pick<Uplink, keyof SecretFiles>> = {};

  constructor(uplink: Uplink) {
    this.#uplink = uplink;
    this.#gate = new SecretGate(secretsOf(NO_SECRETS, [uplink]));
  }

  redact(text: string): string {
    return this.#gate.redact(text);
  }

  /** Each is read before an attempt: tokens expire, and files are renewed. */
  options(): Partial<Readonly<Record<"username" | "password" | "proxy", () => string>>> {
    const { username, password, sasKey, proxy, profile, urls, clientId } = this.#uplink;
    const derived = profileOf(profile)?.login ?? null;
    const device = { hostName: new URL(urls[0] ?? "").hostname, deviceId: clientId };
    const isNamed = username !== null || derived !== null;
    const hasPassword = password !== null || (derived !== null && sasKey !== null);
    return {
      ...(proxy !== null && { proxy: () => this.#proxy(proxy) }),
      ...(isNamed && { username: () => this.#read("username") ?? derived?.username(device) ?? "" }),
      ...(hasPassword && {
        password: () => {
          const key = derived === null ? null : this.#read("sasKey");
          // Without a key the device shows a client certificate.
          if (derived === null || key === null) return this.#read("password") ?? "";
          const until = Math.floor(Date.now() / 1000) + derived.lifetimeS;
          const token = derived.password(device, key, until);
          this.#conceal({}, derived.secretOf(token));
          return token;
        },
      }),
    };
  }

  /** As its file has it now. Throws where that cannot be used. */
  #read(name: keyof SecretFiles): string | null {
    const path = this.#uplink.secretFiles?.[name];
    if (path === undefined) return this.#uplink[name];
    const isMain = this.#uplink.name === MAIN_UPLINK;
    const member = name === "proxy" ? "proxyAuthFile" : `${name}File`;
    const place = isMain ? `MQTT_${name.toUpperCase()}_FILE` : `"${member}"`;
    const secret = readSecretFile(place, path, "", ({ problem }) => {
      throw new Error(`${place}: ${problem}`);
    });
    this.#conceal({ [name]: secret });
    return secret;
  }

  /** Its address, with the credentials that its file has now. */
  #proxy(started: string): string {
    const read = this.#uplink.secretFiles?.proxy === undefined ? null : this.#read("proxy");
    if (read === null) return started;
    const address = this.#uplink.name === MAIN_UPLINK ? read : proxyAddress(started, read);
    if (!URL.canParse(address)) throw new Error("MQTT_PROXY_FILE: is not a complete address");
    this.#conceal({ proxy: address });
    return address;
  }

  #conceal(read: Partial<Pick<Uplink, keyof SecretFiles>>, derived = ""): void {
    this.#last = { ...this.#last, ...read };
    const started = secretsOf(NO_SECRETS, [this.#uplink]);
    const now = secretsOf(NO_SECRETS, [{ ...this.#uplink, ...this.#last }]);
    this.#gate = new SecretGate([...started, ...now, ...(derived === "" ? [] : [derived])]);
  }
}

/** Which certificates the agent depends on, and when they end. */
import { basename, sep } from "node:path";
import type { LinkState } from "../core/agent-status.ts";
import { inUplinkWords } from "../core/delivery/uplink-words.ts";
import {
  type Certificate,
  type CertificateState,
  endingOf,
  firstToEnd,
} from "../core/status/certificate.ts";
import { MAIN_UPLINK, type Uplink } from "../core/uplink.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { CertificateFiles } from "../lib/certificates.ts";
import type { Settings } from "./settings.ts";

type OwnFiles = Pick<Settings, "httpCertFile" | "gatewayCaFile" | "httpKeyFile">;
/** What the broker of an uplink has shown. */
type ShownChain = Pick<LinkState, "brokerCertificates"> & { readonly uplink: string };

interface CertificateParts {
  readonly settings: OwnFiles;
  /** Absolute, of systemd's copies; null outside of a unit with credentials. */
  readonly credentialsDirectory: string | null;
  readonly now: () => number;
}

export class Certificates {
  readonly #parts: CertificateParts;
  readonly #files = new CertificateFiles();

  constructor(parts: CertificateParts) {
    this.#parts = parts;
  }

  /** Of each uplink, in their order, and the box's own. */
  of(uplinks: readonly Uplink[], links: readonly ShownChain[]): CertificateState[] {
    const { settings } = this.#parts;
    const { httpCertFile, gatewayCaFile } = settings;
    const others = SPECS.flatMap((spec: FeatureSpec) =>
      Object.entries(spec.authorities?.(settings) ?? {}),
    );
    return [
      ...uplinks.flatMap((uplink) => {
        const chains = links.filter((link) => link.uplink === uplink.name);
        return this.#ofUplink(
          uplink,
          chains.flatMap((link) => link.brokerCertificates ?? []),
        );
      }),
      ...this.#own("HTTP_CERT_FILE", httpCertFile, firstToEnd),
      ...this.#own("GATEWAY_CA_FILE", gatewayCaFile, lastToEnd),
      ...others.flatMap(([setting, path]) => this.#own(setting, path, lastToEnd)),
    ];
  }

  /** Settings, and members of the uplinks file, whose files change only with a restart. */
  restartFiles(uplinks: readonly Uplink[]): string[] {
    const { httpCertFile, httpKeyFile } = this.#parts.settings;
    const own = { HTTP_CERT_FILE: httpCertFile, HTTP_KEY_FILE: httpKeyFile };
    return [
      ...uplinks.flatMap((uplink) =>
        restartFiles(uplink, this.#parts.credentialsDirectory).map((setting) =>
          uplink.name === MAIN_UPLINK ? setting : inUplinkWords(setting, uplink.name),
        ),
      ),
      ...Object.entries(own).flatMap(([name, path]) => (this.#isCopy(path) ? [name] : [])),
    ];
  }

  #ofUplink({ name, tls }: Uplink, shown: readonly Certificate[]): CertificateState[] {
    const isMain = name === MAIN_UPLINK;
    const authorities = tls.caFile === null ? [] : this.#files.read(tls.caFile);
    const isAuthority = ({ fingerprint }: Certificate) =>
      authorities.some((one) => one.fingerprint === fingerprint);
    // A self-signed one is its own authority, and counts as both.
    const broker = shown.length > 1 ? shown.filter((one) => !isAuthority(one)) : shown;
    const inUse = shown.filter(isAuthority);
    const own = tls.certFile === null ? [] : this.#files.read(tls.certFile);
    // Of several authorities the one that counts is known once the broker has shown its chain.
    const authority = inUse.length > 0 ? firstToEnd(inUse) : lastToEnd(authorities);
    const state = (one: Certificate | null, setting: string | null, path: string | null) =>
      this.#state(one, { uplink: name, setting, path });
    return [
      ...state(firstToEnd(broker), null, null),
      ...state(authority, isMain ? "MQTT_CA_FILE" : "caFile", tls.caFile),
      ...state(firstToEnd(own), isMain ? "MQTT_CERT_FILE" : "certFile", tls.certFile),
    ];
  }

  #own(
    setting: string,
    path: string | null,
    choose: (all: readonly Certificate[]) => Certificate | null,
  ): CertificateState[] {
    if (path === null) return [];
    return this.#state(choose(this.#files.read(path)), { uplink: "", setting, path });
  }

  #state(
    certificate: Certificate | null,
    { uplink, setting, path }: { uplink: string; setting: string | null; path: string | null },
  ): CertificateState[] {
    if (certificate === null) return [];
    return [
      {
        uplink,
        file: path === null ? "broker" : basename(path),
        setting,
        ...certificate,
        ...endingOf(certificate, this.#parts.now()),
        isRenewedByRestart: this.#isCopy(path),
      },
    ];
  }

  #isCopy(path: string | null): boolean {
    return isBelow(path, this.#parts.credentialsDirectory);
  }
}

/** A list of authorities is of use until its last one ends: public ones contain many that nobody needs. */
function lastToEnd(all: readonly Certificate[]): Certificate | null {
  return all.reduce<Certificate | null>(
    (last, one) => (last === null || one.untilMs > last.untilMs ? one : last),
    null,
  );
}

function isBelow(path: string | null | undefined, directory: string | null): boolean {
  return typeof path === "string" && directory !== null && path.startsWith(`${directory}${sep}`);
}

/** Settings of an uplink, as those of `main` are called, that name a file below $CREDENTIALS_DIRECTORY. */
export function restartFiles(
  { tls, secretFiles = {} }: Pick<Uplink, "tls" | "secretFiles">,
  credentialsDirectory: string | null,
): string[] {
  const files = {
    MQTT_CA_FILE: tls.caFile,
    MQTT_CERT_FILE: tls.certFile,
    MQTT_KEY_FILE: tls.keyFile,
    MQTT_USERNAME_FILE: secretFiles.username,
    MQTT_PASSWORD_FILE: secretFiles.password,
    MQTT_PROXY_FILE: secretFiles.proxy,
    MQTT_SAS_KEY_FILE: secretFiles.sasKey,
  };
  return Object.entries(files).flatMap(([name, path]) =>
    isBelow(path, credentialsDirectory) ? [name] : [],
  );
}

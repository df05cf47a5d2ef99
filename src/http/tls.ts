import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type Server } from "node:tls";
import type { Logger } from "../core/ports.ts";

/** Older versions are broken, and no maintained client needs them. */
const MIN_VERSION = "TLSv1.2";

/**
 * OpenSSL's SSL_OP_NO_RENEGOTIATION, which Node does not name: a client of TLS 1.2 that begins handshakes on one
 * connection makes the agent pay for each.
 */
const NO_RENEGOTIATION = 2 ** 30;

export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** The HTTP certificate: read at the start, and again when its files have changed. */
export class ServerCertificate {
  readonly #files: PairFiles;
  readonly #logger: Logger;
  /** Of the files that are in use, or were rejected last. */
  #digest = "";

  constructor(files: PairFiles, logger: Logger) {
    this.#files = files;
    this.#logger = logger;
  }

  /** Throws if the files cannot be read or do not match. */
  load(server: Server): void {
    const pair = this.#read();
    this.#digest = digestOf(pair);
    use(server, pair);
  }

  /**
   * Loads a renewed pair; open connections keep theirs. A renewal writes two files: until both match, or if they never
   * do, the old pair stays in use.
   */
  renew(server: Server): void {
    let digest = "unreadable";
    try {
      const pair = this.#read();
      digest = digestOf(pair);
      if (digest === this.#digest) return;
      use(server, pair);
      this.#logger.info({ certFile: this.#files.certFile }, "using the renewed certificate");
    } catch (err) {
      if (digest !== this.#digest)
        this.#logger.warn(
          { err, certFile: this.#files.certFile },
          "the renewed certificate cannot be used; keeping the old one",
        );
    }
    this.#digest = digest;
  }

  #read(): { readonly cert: Buffer; readonly key: Buffer } {
    return { cert: readFileSync(this.#files.certFile), key: readFileSync(this.#files.keyFile) };
  }
}

function use(server: Server, pair: { readonly cert: Buffer; readonly key: Buffer }): void {
  const secureOptions = NO_RENEGOTIATION;
  const options = { ...pair, minVersion: MIN_VERSION, secureOptions } as const;
  // First aside: a mismatched pair must not reach the server.
  createSecureContext(options);
  server.setSecureContext(options);
}

function digestOf({ cert, key }: { readonly cert: Buffer; readonly key: Buffer }): string {
  return createHash("sha256").update(cert).update("\0").update(key).digest("hex");
}

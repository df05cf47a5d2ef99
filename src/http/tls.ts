import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type Server } from "node:tls";
import type { Logger } from "../core/ports.ts";

/** Older ones are broken, and nothing that is still mended speaks only them. */
const MIN_VERSION = "TLSv1.2";

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** The certificate of the HTTP side: read at the start, and again once its files have changed. */
export class ServerCertificate {
  readonly #files: TlsFiles;
  readonly #logger: Logger;
  /** Of the files that are in use, or were last refused. */
  #digest = "";

  constructor(files: TlsFiles, logger: Logger) {
    this.#files = files;
    this.#logger = logger;
  }

  /** Throws where the files cannot be read or do not fit. */
  load(server: Server): void {
    const pair = this.#read();
    this.#digest = digestOf(pair);
    use(server, pair);
  }

  /**
   * Takes a renewed pair; connections that are open keep theirs. Whoever renews writes two files: until both fit, and
   * where they never do, the old pair stays in use.
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
  const options = { ...pair, minVersion: MIN_VERSION } as const;
  // First aside: a pair that does not fit must not reach the server.
  createSecureContext(options);
  server.setSecureContext(options);
}

function digestOf({ cert, key }: { readonly cert: Buffer; readonly key: Buffer }): string {
  return createHash("sha256").update(cert).update("\0").update(key).digest("hex");
}

/** Certificates and keys that settings name: each is read once when the settings are checked. */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { codeOrMessage } from "../core/thrown.ts";
import { fileTrouble, readRemedy } from "../lib/file-trouble.ts";
import type { Note } from "./fault.ts";

interface TlsFile {
  readonly name: string;
  readonly path: string;
  /** The name of the file in a fault, if its path may not be a path. */
  readonly word?: string;
}

export interface TlsFiles {
  readonly ca?: TlsFile;
  readonly cert?: TlsFile;
  readonly key?: TlsFile;
}

const CERTIFICATE = [/-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----/, "certificate"] as const;
/** What each file is for, and what it is called. */
const CONTENTS = {
  ca: CERTIFICATE,
  cert: CERTIFICATE,
  key: [/-----BEGIN ([A-Z]+ )?PRIVATE KEY-----/, "private key"],
} as const;

/** A file that cannot be read, or has the wrong content. */
function pemTrouble(error: unknown): string {
  return error instanceof Error && "syscall" in error
    ? fileTrouble(error)
    : `cannot be used (${codeOrMessage(error)})`;
}

/** The files exist, are PEM, and the key matches the certificate. */
export function checkTlsFiles(files: TlsFiles, note: Note): void {
  const context: { ca?: Buffer; cert?: Buffer; key?: Buffer } = {};
  let isComplete = true;
  for (const role of ["ca", "cert", "key"] as const) {
    const file = files[role];
    if (!file) continue;
    try {
      const content = readFileSync(file.path);
      if (!content.includes("-----BEGIN ")) throw new Error("is not a PEM file");
      const [mark, what] = CONTENTS[role];
      if (!mark.test(content.toString("latin1"))) throw new Error(`contains no ${what}`);
      // Each alone first, so that the fault names the right file; a key only with its certificate.
      if (role === "cert") createSecureContext({ cert: content });
      // A context takes any text for a list of CAs and trusts nobody then.
      if (role === "ca") new X509Certificate(content);
      context[role] = content;
    } catch (error) {
      isComplete = false;
      note({
        place: file.name,
        problem: `${file.word ?? file.path} ${pemTrouble(error)}`,
        remedy: readRemedy(
          error,
          file.word === undefined || file.word === file.path ? file.path : "FILE",
          "use a PEM file that this user can read",
        ),
      });
    }
  }
  if (!isComplete || !context.cert || !context.key || !files.key) return;
  try {
    createSecureContext(context);
  } catch (error) {
    note({
      place: files.key.name,
      problem: `the key does not match the certificate (${codeOrMessage(error)})`,
      remedy: "use the certificate's key, without a passphrase",
    });
  }
}

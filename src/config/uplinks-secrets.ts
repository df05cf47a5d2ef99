import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { SecretFiles, Uplink } from "../core/uplink.ts";
import { proxyAddress } from "./checks.ts";
import type { Note } from "./fault.ts";
import { fileWord, readSecretFile } from "./secret-file.ts";
import type { WrittenUplink } from "./uplinks-written.ts";

/** By absolute path, the future content of files that are written together with the uplinks file. */
export type PendingFiles = ReadonlyMap<string, string>;

type FileKey = "usernameFile" | "passwordFile" | "sasKeyFile" | "proxyAuthFile";

/** The content of an uplink's files. A file that cannot be used is noted. */
export function readCredentials(
  written: Pick<
    WrittenUplink,
    "username" | "usernameFile" | "passwordFile" | "sasKeyFile" | "proxy" | "proxyAuthFile"
  >,
  place: string,
  directory: string,
  note: Note,
  pending: PendingFiles = new Map(),
): Pick<Uplink, "username" | "password" | "sasKey" | "secretFiles" | "proxy"> {
  // One that is still to be written cannot be read again.
  const source = (name: keyof SecretFiles, key: FileKey) => {
    const path = written[key];
    const whole = path === undefined ? null : resolve(directory, path);
    return whole === null || pending.has(whole) ? {} : { [name]: whole };
  };
  const secret = (key: FileKey, what: string) => {
    const path = written[key];
    if (path === undefined) return null;
    const whole = resolve(directory, path);
    const typed = pending.get(whole);
    if (typed !== undefined) return typed;
    return readSecretFile(`${place}.${key}`, whole, what, note, fileWord(path, whole));
  };
  const proxyAuth = secret("proxyAuthFile", "user:password for the proxy");
  if (proxyAuth !== null && !/^[^:]+:/.test(proxyAuth))
    note({
      place: `${place}.proxyAuthFile`,
      problem: "contains no user name and password",
      remedy: "write user:password into the file",
    });
  const secretFiles = {
    ...source("username", "usernameFile"),
    ...source("password", "passwordFile"),
    ...source("sasKey", "sasKeyFile"),
    ...source("proxy", "proxyAuthFile"),
  };
  return {
    username: written.username ?? secret("usernameFile", "the user name"),
    password: secret("passwordFile", "the password"),
    sasKey: secret("sasKeyFile", "the shared access key"),
    proxy: written.proxy === undefined ? null : proxyAddress(written.proxy, proxyAuth),
    ...(Object.keys(secretFiles).length === 0 ? {} : { secretFiles }),
  };
}

/** With a digest of what the files hold now; one that cannot be read is a fault elsewhere. */
export function tlsWithDigest(files: Omit<Uplink["tls"], "digest">): Uplink["tls"] {
  const paths = [files.caFile, files.certFile, files.keyFile];
  if (paths.every((path) => path === null)) return files;
  const hash = createHash("sha256");
  for (const path of paths) hash.update("\0").update(path === null ? "" : contentOf(path));
  return { ...files, digest: hash.digest("hex") };
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}

/** The secret of `main` as its file has it now; the one of the start where the file cannot be used. */
export function secretNow(
  files: SecretFiles | undefined,
  name: keyof SecretFiles,
  started: string | null,
): string | null {
  const path = files?.[name];
  return path === undefined ? started : (readSecretFile("", path, "", () => {}) ?? started);
}

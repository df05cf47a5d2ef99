import { resolve } from "node:path";
import type { Uplink } from "../core/uplink.ts";
import { proxyAddress } from "./checks.ts";
import type { Note } from "./fault.ts";
import { fileWord, readSecretFile } from "./secret-file.ts";
import type { WrittenUplink } from "./uplinks-written.ts";

/** By absolute path, the future content of files that are written together with the uplinks file. */
export type PendingFiles = ReadonlyMap<string, string>;

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
): Pick<Uplink, "username" | "password" | "sasKey" | "proxy"> {
  type FileKey = "usernameFile" | "passwordFile" | "sasKeyFile" | "proxyAuthFile";
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
  return {
    username: written.username ?? secret("usernameFile", "the user name"),
    password: secret("passwordFile", "the password"),
    sasKey: secret("sasKeyFile", "the shared access key"),
    proxy: written.proxy === undefined ? null : proxyAddress(written.proxy, proxyAuth),
  };
}

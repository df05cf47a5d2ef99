import { createHash, createHmac, randomBytes } from "node:crypto";
import { type PublicUplink, withoutSecrets } from "../core/configuration.ts";
import type { Site } from "../core/sensor.ts";
import { canonicalJson } from "../core/site-difference.ts";
import type { Uplink } from "../core/uplink.ts";

/** Digits that are shown of a configuration. */
const SHOWN_DIGITS = 12;

/**
 * The name of a configuration: the first 12 hex digits of the SHA-256 over the canonical JSON (sorted members, no blanks) of
 * `{settings, site, uplinks}`: settings as `check` shows them, without secrets, the site with its defaults filled in, and
 * the uplinks of UPLINKS_FILE without user names, passwords and keys.
 */
export function configurationDigest(
  settings: Readonly<Record<string, string>>,
  site: Site,
  uplinks: readonly Uplink[],
): string {
  const known: PublicUplink[] = uplinks.map(withoutSecrets);
  return sha256(canonicalJson({ settings, site, uplinks: known })).slice(0, SHOWN_DIGITS);
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** New with each process. */
const MARK_KEY = randomBytes(32);

/**
 * Tells one text of a file from another, and is shown over HTTP: 64 hex digits, good while the process lives. A plain hash would let who may only look
 * try out what secrets the file holds.
 */
export function fileMark(text: string): string {
  return createHmac("sha256", MARK_KEY).update(text).digest("hex");
}

/** Settings compared without being told: equal for equal values under one nonce, and good for nothing else. */
export function settingDigest(nonce: string, name: string, value: string): string {
  return createHmac("sha256", nonce).update(`${name}=${value}`).digest("hex");
}
